"""Reads the public C++ headers: enums, structs, functions and their comments, in the regular style of these headers.

It is not a full parser of C++. Code that it does not understand is an error with the file and line.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
from typing import Dict, List, Optional, Tuple

TOKEN = re.compile(r"""(?P<space>[ \t\n]+) | (?P<comment>//[^\n]*) | (?P<line>^\#[^\n]*(?:\\\n[^\n]*)*) | (?P<text>"(?:[^"\\]|\\.)*")
                     | (?P<number>\.?\d[\w.]*(?:[eE][+-]?\d+f?)?) | (?P<word>[A-Za-z_]\w*) | (?P<mark>::|\.\.\.|==|&&|\[\[|\]\]|[^\w\s])""",
                   re.VERBOSE | re.MULTILINE)
OPENING, CLOSING = "([{<", ")]}>"


class Misunderstood(Exception):
    pass


@dataclasses.dataclass
class Token:
    text: str
    line: int
    column: int


@dataclasses.dataclass
class Member:
    """Describes a struct member, an enumerator, or a parameter. `default` is the C++ text of its default, or ""."""

    name: str
    type: str
    default: str
    comment: List[str]
    line: int


@dataclasses.dataclass
class Enum:
    name: str  # "RotaryScaling::Kind"
    values: List[Member]  # with their numbers as defaults
    comment: List[str]
    header: str
    line: int


@dataclasses.dataclass
class Struct:
    name: str
    members: List[Member]
    comment: List[str]
    header: str
    line: int


@dataclasses.dataclass
class Function:
    name: str  # "Graph::add", "nn::linear"
    result: str
    parameters: List[Member]
    comment: List[str]
    header: str
    line: int

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(p.type for p in self.parameters)})"


@dataclasses.dataclass
class Constant:
    name: str
    type: str
    value: str
    comment: List[str]


def joined(tokens: List[Token]) -> str:
    """The tokens as text, with spaces between words, and after commas, `>`, `*` and `&` before words."""
    text = ""
    for token in tokens:
        is_word = re.match(r"[\w\".]", token.text) is not None
        if text and (text[-1] == "," or (is_word and re.search(r"[\w>*&]$", text))):
            text += " "
        text += token.text
    return text


def split(tokens: List[Token], mark: str = ",") -> List[List[Token]]:
    """Splits tokens at a mark that is outside of all brackets."""
    parts: List[List[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in OPENING) - (token.text in CLOSING)
        if token.text == mark and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts if parts != [[]] else []


class Header:
    """The declarations of one header in namespace heed, by names without "heed::"."""

    def __init__(self, path: pathlib.Path) -> None:
        self.name = path.name
        self.enums: Dict[str, Enum] = {}
        self.structs: Dict[str, Struct] = {}
        self.functions: List[Function] = []
        self.constants: Dict[str, Constant] = {}
        text = path.read_text()
        self.comments: Dict[int, Token] = {}  # by line
        self.tokens: List[Token] = []
        self._lex(text)
        self.intro = self._block_from(1)
        self.at = 0
        self._scope("", "namespace", len(self.tokens))

    # --- Tokens -----------------------------------------------------------------------------------------------------

    def _lex(self, text: str) -> None:
        line, start, at = 1, 0, 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if not match:
                raise Misunderstood(f"{self.name}:{line}: {text[at:at + 20]!r}")
            token = Token(match.group(), line, at - start)
            if match.lastgroup == "comment":
                self.comments[line] = token
            elif match.lastgroup not in ("space", "line"):
                self.tokens.append(token)
            line += token.text.count("\n")
            if "\n" in token.text:
                start = match.start() + token.text.rindex("\n") + 1
            at = match.end()

    def _fail(self, what: str, token: Optional[Token] = None) -> Misunderstood:
        token = token or self.tokens[min(self.at, len(self.tokens) - 1)]
        return Misunderstood(f"{self.name}:{token.line}: {what}")

    def _peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead].text if self.at + ahead < len(self.tokens) else ""

    def _block_from(self, line: int) -> List[str]:
        block = []
        while line in self.comments and self.comments[line].column == 0:
            block.append(self.comments[line].text[2:].removeprefix(" "))
            line += 1
        return block

    def _comment(self, first: Token, last: Token) -> List[str]:
        """The comment above a declaration, and the trailing comment, which may continue below in the same column."""
        lines: List[str] = []
        at, tokens_of = first.line - 1, {t.line for t in self.tokens}
        while at in self.comments and at not in tokens_of:
            lines.insert(0, self.comments[at].text[2:].removeprefix(" "))
            at -= 1
        behind = self.comments.get(last.line)
        if behind is not None and behind.column > last.column:
            text = behind.text[2:].removeprefix(" ")
            lines.append(text[0].upper() + text[1:] if lines else text)
            at = last.line + 1
            while at in self.comments and at not in tokens_of and self.comments[at].column == behind.column:
                lines.append(self.comments[at].text[2:].removeprefix(" "))
                at += 1
        return [line for line in lines if not line.startswith("---")]

    # --- Declarations ---------------------------------------------------------------------------------------------------

    def _close_of(self, at: int) -> int:
        """The index of the bracket that closes the one at `at`."""
        mark, depth = self.tokens[at].text, 0
        other = CLOSING[OPENING.index(mark)]
        for i in range(at, len(self.tokens)):
            depth += (self.tokens[i].text == mark) - (self.tokens[i].text == other)
            if depth == 0:
                return i
        raise self._fail(f"no {other} closes this", self.tokens[at])

    def _scope(self, prefix: str, kind: str, end: int) -> None:
        is_public = kind != "class"
        while self.at < end:
            text = self._peek()
            if text == ";":
                self.at += 1
            elif text in ("public", "private", "protected") and self._peek(1) == ":":
                is_public = text == "public"
                self.at += 2
            elif text == "namespace":
                self._namespace(prefix)
            elif text == "enum":
                self._enum(prefix, is_public)
            elif text in ("struct", "class") and self._is_type():
                self._type(prefix, is_public)
            else:
                self._statement(prefix, kind, is_public)

    def _namespace(self, prefix: str) -> None:
        open_at = next(i for i in range(self.at, len(self.tokens)) if self.tokens[i].text == "{")
        name = "".join(t.text for t in self.tokens[self.at + 1:open_at])
        end = self._close_of(open_at)
        self.at = open_at + 1
        if name == "detail":
            self.at = end
        inner = name.removeprefix("heed").removeprefix("::")
        self._scope(prefix + (inner + "::" if inner else ""), "namespace", end)
        self.at = end + 1

    def _is_type(self) -> bool:
        """Whether this declares a struct or class, not a variable of one."""
        at = self.at + 1
        while at < len(self.tokens) and self.tokens[at].text not in ("{", ";", "("):
            at += 1
        return self.tokens[at].text in "{;"

    def _enum(self, prefix: str, is_public: bool) -> None:
        first = self.tokens[self.at]
        open_at = next(i for i in range(self.at, len(self.tokens)) if self.tokens[i].text == "{")
        end = self._close_of(open_at)
        head = joined(self.tokens[self.at:open_at])
        match = re.fullmatch(r"enum class\s*(?:\[\[nodiscard\]\])?\s*(\w+)\s*:\s*uint8_t", head)
        if not match:
            raise self._fail(f"an enum as {head!r}", first)
        values, number = [], 0
        for part in split(self.tokens[open_at + 1:end]):
            if not part:
                continue
            if len(part) == 3 and part[1].text == "=":
                number = int(part[2].text, 0)
            elif len(part) != 1:
                raise self._fail(f"an enumerator as {joined(part)!r}", part[0])
            # The comma is between the enumerator and its comment.
            comma = self.tokens[self.tokens.index(part[-1]) + 1]
            shares_line = sum(t.line == part[0].line for t in self.tokens[open_at + 1:end]) > 2 * len(part)
            comment = [] if shares_line else self._comment(part[0], comma if comma.text == "," else part[-1])
            values.append(Member(part[0].text, "", str(number), comment, part[0].line))
            number += 1
        if is_public:
            comment = self._comment(first, self.tokens[end + 1] if self.tokens[end + 1].line == first.line else first)
            self.enums[prefix + match.group(1)] = Enum(prefix + match.group(1), values, comment, self.name, first.line)
        self.at = end + 2

    def _type(self, prefix: str, is_public: bool) -> None:
        first = self.tokens[self.at]
        at = self.at
        while self.tokens[at].text not in ("{", ";"):
            at += 1
        if self.tokens[at].text == ";":  # a forward declaration
            self.at = at + 1
            return
        head = [t.text for t in self.tokens[self.at:at] if t.text != "HEED_API"]
        name, end = head[1], self._close_of(at)
        self.at = at + 1
        if is_public:
            self.structs[prefix + name] = Struct(prefix + name, [], self._comment(first, first), self.name, first.line)
            self._scope(prefix + name + "::", head[0], end)
        self.at = end + 1

    def _statement(self, prefix: str, kind: str, is_public: bool) -> None:
        """Reads a member, function or constant up to its `;`, or to the end of a function's body."""
        start = self.at
        depth, has_parameters, is_set = 0, False, False
        while True:
            if self.at >= len(self.tokens):
                raise self._fail("a declaration that does not end", self.tokens[start])
            text = self._peek()
            if depth == 0 and text == ";":
                break
            if depth == 0 and text == "{" and has_parameters and not is_set:
                body = self.at
                self.at = self._close_of(self.at)
                self._declare(prefix, kind, is_public, self.tokens[start:body], self.tokens[self.at])
                self.at += 1
                return
            is_set |= depth == 0 and text == "="
            has_parameters |= depth == 0 and text == "("
            # A `:` after the parameters begins a constructor's initializer list, whose braces are not a body.
            depth += (text in "([{") - (text in ")]}")
            self.at += 1
        self._declare(prefix, kind, is_public, self.tokens[start:self.at], self.tokens[self.at])
        self.at += 1

    def _declare(self, prefix: str, kind: str, is_public: bool, tokens: List[Token], last: Token) -> None:
        words = [t.text for t in tokens]
        if not is_public or not words or words[0] in ("template", "using", "friend", "explicit", "static_assert", "extern"):
            return
        comment = self._comment(tokens[0], last)
        kept = [t for t in tokens if t.text not in ("HEED_API", "inline", "constexpr", "static", "virtual")]
        is_constexpr = "constexpr" in words
        head = kept[:next((i for i, t in enumerate(kept) if t.text == "="), len(kept))]
        if any(t.text == "operator" for t in kept) or "~" in words:
            return
        if any(t.text == "(" for t in head) and not any(t.text == "*" and head[i - 1].text == "("
                                                         for i, t in enumerate(head) if i):
            self._function(prefix, kept, comment, is_constexpr)
        elif is_constexpr:
            name = head[-1].text
            self.constants[prefix + name] = Constant(prefix + name, joined(head[:-1]), joined(kept[len(head) + 1:]), comment)
        elif kind == "struct":
            self.structs[prefix.removesuffix("::")].members += self._members(kept, comment)
        elif kind != "class":
            raise self._fail(f"a declaration as {joined(tokens)!r}", tokens[0])

    def _function(self, prefix: str, tokens: List[Token], comment: List[str], is_constexpr: bool) -> None:
        open_at = next(i for i, t in enumerate(tokens) if t.text == "(")
        at = self.tokens.index(tokens[open_at])
        end = tokens.index(self.tokens[self._close_of(at)])
        name, result = tokens[open_at - 1].text, joined(tokens[:open_at - 1])
        scope = prefix.removesuffix("::").rsplit("::", 1)[-1]
        if name == scope or is_constexpr:  # a constructor, or a constexpr function, which other languages do not need
            return
        parameters = []
        for part in split(tokens[open_at + 1:end]):
            parameters += self._members(part, [])
        self.functions.append(Function(prefix + name, result, parameters, comment, self.name, tokens[0].line))

    def _members(self, tokens: List[Token], comment: List[str]) -> List[Member]:
        """Reads `Type a = x, b = y`. For pointers to functions the type is kept as text, since the name is inside it."""
        words = [t.text for t in tokens]
        if "(" in words and words[words.index("(") + 1:][:1] == ["*"]:
            name = words[words.index("(") + 2]
            head = tokens[:words.index("=")] if "=" in words else tokens
            return [Member(name, joined(head), "nullptr", comment, tokens[0].line)]
        parts = split(tokens)
        members: List[Member] = []
        kind = ""
        for part in parts:
            equals = next((i for i, t in enumerate(part) if t.text in ("=", "{")), len(part))
            head, default = part[:equals], part[equals:]
            if default and default[0].text == "=":
                del default[0]
            if not kind:
                kind = joined(head[:-1])
                if not kind or not re.fullmatch(r"[A-Za-z_]\w*", head[-1].text):
                    raise self._fail(f"a member as {joined(part)!r}", part[0])
            elif len(head) != 1:
                raise self._fail(f"a member as {joined(part)!r}", part[0])
            text = joined(default)
            members.append(Member(head[-1].text, kind, text, comment, part[0].line))
        return members


def read(folder: pathlib.Path, names: List[str]) -> List[Header]:
    return [Header(folder / name) for name in names]


def span_of(kind: str) -> Optional[str]:
    """The element of a std::span<const T>."""
    match = re.fullmatch(r"std::span<const (.+)>", kind)
    return match.group(1) if match else None


def optional_of(kind: str) -> Optional[str]:
    match = re.fullmatch(r"std::optional<(.+)>", kind)
    return match.group(1) if match else None


def const_ref_of(kind: str) -> Optional[str]:
    match = re.fullmatch(r"const ([\w:]+)&", kind)
    return match.group(1) if match else None


def merged(headers: List[Header]) -> Tuple[Dict[str, Enum], Dict[str, Struct], List[Function], Dict[str, Constant]]:
    enums: Dict[str, Enum] = {}
    structs: Dict[str, Struct] = {}
    functions: List[Function] = []
    constants: Dict[str, Constant] = {}
    for header in headers:
        enums |= header.enums
        structs |= header.structs
        functions += header.functions
        constants |= header.constants
    return enums, structs, functions, constants
