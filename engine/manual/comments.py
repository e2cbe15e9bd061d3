#!/usr/bin/env python3
"""Copies the public headers and turns their plain // comments into Doxygen comments.

  comments.py FROM TO    writes the headers of the folder FROM into the folder TO. Prints one line per member of a struct that no comment
                         describes; the exit code is then 1

The comment at the head of a file describes the file. A comment above or behind a declaration describes that declaration, and the functions
that follow without a blank line or a comment of their own. Indented lines are examples. Every line keeps its number, so that warnings name
the right line. Declarations that only heed's own sources can use (detail::) are left out.
"""
import pathlib
import re
import sys

WHOLE = re.compile(r"^( *)// ?(.*)$")
BEHIND = re.compile(r'^( *[^/ ](?:[^/"]|/(?!/)|"[^"]*")*?)( *)// (.*)$')
# These declarations share the comment of the declaration above: functions, constants and aliases. Members of structs do not; the comment of
# the struct may describe them.
SHARES = re.compile(r"(?!struct |enum |class |typedef )(?:[\w:<>\[\] *&]+\(|(?:static|inline) constexpr |using |#define )")
# Comments that every type shares, so that headers need not repeat them.
CONVENTIONS = [(re.compile(pattern), text) for pattern, text in (
    (r"heed_\w+_destroy\(", "Gives the handle back; NULL does nothing."),
    (r"heed_\w+_init\(", "Fills *options with the defaults of C++."),
    (r"heed_\w+_get_info\(", "Fills *info, whose `size` the caller has set."),
    (r"\bbool valid\(\) const", "False for one that holds nothing: none was made, or it was moved away."),
    (r"^ +(\w+)\(\1&&\)", "Takes over what the other one holds."),
    (r"^ +(\w+)& operator=\(\1&&\)", "Drops what this one holds, and takes over what the other one holds."),
    (r"^ +(\w+)\(const \1&\)", "A copy."),
    (r"^ +(\w+)& operator=\(const \1&\)", "Becomes a copy."),
    (r"^ +(\w+)\(\)( = default)?;", "Holds nothing yet."),
    (r"^ +~(\w+)\(\)( = default)?;", "Lets go of what it holds."),
)]


def plain(text):
    """Escapes text so that Doxygen finds no commands and no false ends of sentences in it; `code` is left as it is."""
    parts = re.split(r"(`[^`]*`)", text.replace("et al. ", "et al.\0").replace(".. ", "..\0"))
    return "".join(part if part.startswith("`") else re.sub(r"([\\<>#@%&$*_~|])", r"\\\1", part) for part in parts).replace("\0", "&nbsp;")


def block(indent, lines):
    """Converts the lines of a comment; indented examples become blocks of code."""
    out, code = [], False
    for at, line in enumerate(lines):
        is_code = line.startswith("  ") or (code and not line and lines[at + 1:at + 2] and lines[at + 1].startswith("  "))
        text = line if is_code else plain(line)
        if is_code and not code:
            out[-1] += " @code{.cpp}"
        if code and not is_code:
            text = "@endcode " + text
        code = is_code
        out.append(f"{indent}/// {text}".rstrip())
    if code:
        out[-1] += " @endcode"
    return out


def split_members(code, text):
    """Splits `T a = 1, b = 2;` into two declarations, each with the comment."""
    m = re.match(r"^( +(?:std::)?[\w:<>]+(?: ?\*)? )(\w+(?: = [^,(){}]+| = \{\})?(?:, \w+(?: = [^,(){}]+| = \{\})?)+);$", code)
    return " ".join(f"{m[1] if i == 0 else m[1].strip()} {part}; /**< {text} */" for i, part in enumerate(m[2].split(", "))) if m else None


# A member of a struct, for the check that its comment or the struct's comment names it. EVIDENT names need no comment.
FIELD = re.compile(r"^  (?!using )((?:std::)?\w[\w:]*(?:<.*>)?)[ *&]+(\w+(?:(?: = [^,;]+)?, \w+)*)(?: = .*|\{\})?;$")
EVIDENT = {"name", "dtype", "shape", "data", "bytes", "user", "milliseconds"}


class Header:
    """Converts one header, whose lines are appended to `out`."""

    def __init__(self, name, source):
        self.name, self.lines, self.at, self.out = name, source.split("\n"), 0, []
        self.run = []  # the comment that later functions share
        self.struct = []  # the comment of the current struct or enum
        self.begins = True  # whether the line begins a declaration
        self.opened = 0  # its line
        self.told = set()  # words of the comments of the current struct and of its members
        self.bare = []  # (line, name) of members of structs that no comment describes

    def column_of_comments(self, column):
        """Reads the comment lines that begin in this column, from the current line on."""
        texts = []
        while self.at < len(self.lines) and (m := WHOLE.match(self.lines[self.at])) and len(m[1]) == column:
            texts.append(m[2])
            self.told.update(re.findall(r"\w+", m[2]))
            self.at += 1
        return texts

    def above(self, indent):
        """Converts a comment on lines of its own."""
        texts = self.column_of_comments(len(indent))
        below = self.lines[self.at] if self.at < len(self.lines) else ""
        if not below.strip() or below.strip().startswith(("}", "#if", "#endif")):  # it describes no declaration
            self.out += [""] * len(texts)
            return
        members = split_members(BEHIND.sub(r"\1", below), plain(" ".join(texts)))
        if members:
            self.out += [""] * len(texts) + [members]
            self.at += 1
        else:
            self.out += block(indent, texts)
            self.run = [text for text in texts if not text.startswith("  ")]
        self.begins = bool(members)

    def behind(self, code, gap, text):
        """Converts a declaration, or its last line, with a trailing comment."""
        column = len(code) + len(gap)
        self.at += 1
        texts = [text, *self.column_of_comments(column)]
        self.told.update(re.findall(r"\w+", text))
        members = split_members(code, plain(" ".join(texts)))
        if members:
            self.out += [members] + [""] * (len(texts) - 1)
        else:
            self.out.append(f"{code}{gap}///< {plain(texts[0])}")
            self.out += [f"{' ' * column}///< {plain(text)}" for text in texts[1:]]
        if self.begins:
            self.run = texts
        self.begins = code.endswith((";", "}"))

    def other(self, line):
        """Converts a line without a comment, which may share one or need none of its own."""
        code, indented = line.strip(), line.startswith(" ")
        ends = not code or code.startswith("}") or code.endswith(":")
        if ends:
            closes = code.startswith("}") and not indented
            if closes:
                self.bare = [(line, name) for line, name in self.bare if name not in self.told or line < self.opened]
            self.run, self.struct = (self.struct, []) if closes else ([], self.struct)
        elif self.begins and (stock := next((text for pattern, text in CONVENTIONS if pattern.search(line)), None)):
            line = f"/** {plain(stock)} */ " + line
        elif self.begins and self.run and SHARES.match(code):
            line = f"/** {plain(' '.join(self.run))} */ " + line
        elif self.begins and self.struct and (m := FIELD.match(line)) and not re.match(r"[A-Z]", m[1]):
            self.bare += [(self.at + 1, name) for name in re.findall(r"(?:^|, )(\w+)", m[2]) if name not in EVIDENT]
        if code.endswith("{"):
            if not indented and re.match("(typedef )?(struct|enum)", code):
                self.struct, self.told, self.opened = self.run, set(), self.at
                self.told.update(*(re.findall(r"\w+", text) for text in self.run))
            self.run = []
        self.begins = ends or code.endswith((";", "}", "{")) or code.startswith("#")
        self.out.append(line)
        self.at += 1

    def skip_private(self, line):
        """Skips what follows `private:` in a class."""
        indent = len(line) - len(line.lstrip())
        while not re.match(rf" {{0,{indent - 1}}}\}};", self.lines[self.at]):
            self.out.append("")
            self.at += 1

    def text(self):
        while self.lines[self.at].startswith("//"):
            self.at += 1
        head = [line[2:].removeprefix(" ") for line in self.lines[:self.at] if line != "// clang-format off"]
        self.out = self.lines[:self.at]
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip() == "private:":
                self.skip_private(line)
            elif self.begins and "detail::" in line and line.endswith((";", "}")):
                self.out.append("")
                self.at += 1
            elif line.lstrip().startswith("// ---"):  # the heading of a section
                self.out.append(line)
                self.at += 1
            elif m := WHOLE.match(line):
                self.above(m[1])
            elif (m := BEHIND.match(line)) and re.search(r"[;,{})\w>]$", m[1]) and not m[1].lstrip().startswith("}"):
                self.behind(*m.groups())
            else:
                self.other(line)
        return "\n".join([*self.out, f"/// @file {self.name}", *block("", head[2:] if head[0].startswith("Made by ") else head), ""])


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    bare = []
    for header in [*source.rglob("*.hpp"), *source.rglob("*.h")]:
        path = target / header.relative_to(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        made = Header(header.name, header.read_text())
        path.write_text(made.text())
        if header.suffix == ".hpp":  # members of C structs are documented in C++
            bare += [f"FAIL {header}:{line}: member {name} has no comment, nor is it in that of its struct" for line, name in made.bare]
    print(*bare, sep="\n", end="\n" if bare else "")
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
