"""Prints kExceptions of engine/text/wordpiece/tokenizer_unicode.cpp: code points whose categories and decompositions in the
`tokenizers` package differ from the current Unicode standard.
  pip install tokenizers unicodedata2 && python unicode_exceptions.py
Compares every code point with this Python's Unicode tables and with unicodedata2, which have two versions of Unicode, so that the
rows are right for libraries of any version between."""
import unicodedata

import unicodedata2
from tokenizers import normalizers, pre_tokenizers


def bert(**flags):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**off, **flags})


CLEAN, STRIP, SPLIT = bert(clean_text=True), bert(strip_accents=True), pre_tokenizers.BertPreTokenizer()
SPACES = {*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}


def reference_kind(char):
    if CLEAN.normalize_str("a" + char + "b") == "ab":
        return "dropped"
    if STRIP.normalize_str(char) == "":
        return "kMark"
    words = [word for word, _ in SPLIT.pre_tokenize_str("a" + char + "b")]
    return {1: "kPlain", 2: "space", 3: "kSign"}[len(words)]


def standard_kind(char, tables):
    category = tables.category(char)
    if char in "\t\n\r":
        return "space"
    if char in "\0\ufffd" or category in ("Cc", "Cf", "Co"):
        return "dropped"
    if category == "Mn":
        return "kMark"
    if category[0] == "P" or (char.isascii() and char.isprintable() and not char.isalnum() and char != " "):
        return "kSign"
    return "space" if ord(char) in SPACES else "kPlain"


def main():
    kinds, simple, rows = {}, {}, []
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        char = chr(code)
        kinds[code] = reference_kind(char)
        simple[code] = STRIP.normalize_str(char) == char
        decomposes = unicodedata2.normalize("NFD", char) != char
        standard = {standard_kind(char, unicodedata), standard_kind(char, unicodedata2)}
        if standard == {kinds[code]} and not (kinds[code] == "kPlain" and simple[code] and decomposes):
            continue
        between = range(rows[-1][1] + 1, code) if rows else ()
        if rows and rows[-1][2] == kinds[code] and all(
                kinds.get(c) == kinds[code] and simple.get(c) for c in between):
            rows[-1][1] = code
        else:
            rows.append([code, code, kinds[code]])
    for first, last, kind in rows:
        print(f"{{0x{first:X}, 0x{last:X}, {kind}}},")


main()
