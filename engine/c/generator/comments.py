"""Translates comments of the C++ headers to the names of C and Python."""

from __future__ import annotations

import pathlib
import re
import textwrap
from typing import List, Set

from model import Interface, snake


def reflowed(lines: List[str], width: int) -> List[str]:
    """Rewraps paragraphs to lines of at most this width. Indented lines are unchanged."""
    out: List[str] = []
    paragraph: List[str] = []

    def end() -> None:
        if paragraph:
            out.extend(textwrap.wrap(" ".join(paragraph), width, break_long_words=False, break_on_hyphens=False))
            paragraph.clear()

    for line in lines:
        if line.startswith(" ") or not line:
            end()
            out.append(line)
        elif line.startswith("- "):
            end()
            paragraph.append(line)
        else:
            paragraph.append(line)
    end()
    return out


class Translation:
    """Replaces names in comments. `enumerator`, `function`, `constant` and `struct` map C++ names to the other language."""

    def __init__(self, made: Interface) -> None:
        self.made = made
        values = {}
        for name, enum in made.enums.items():
            for value in enum.values:
                values[f"{name.split('::', 1)[-1] if name.startswith(('nn::', 'train::', 'vulkan::')) else name}::{value.name}"] = (name, value.name)
        self.values = values
        # Enumerators that comments name without their enum. Statuses keep their C++ names, as heed_status_text returns them.
        self.bare = {value.name: (name, value.name) for name, enum in made.enums.items() if name != "Status"
                     for value in enum.values if re.search(r"[a-z][A-Z]", value.name)}
        structs = [s.name for s in made.options] + [s.name for s in made.results]
        self.structs = {name.rsplit("::", 1)[-1]: name for name in structs}
        self.constants = {c.name.rsplit("::", 1)[-1]: c.name for c in made.named_constants()}

    def enumerator(self, enum: str, value: str) -> str:
        raise NotImplementedError

    def call(self, scope: str, name: str) -> str:
        raise NotImplementedError

    def member(self, struct: str, name: str) -> str:
        raise NotImplementedError

    def struct(self, struct: str) -> str:
        raise NotImplementedError

    def constant(self, name: str) -> str:
        raise NotImplementedError

    def _word(self, match: "re.Match[str]") -> str:
        text = match.group()
        text = re.sub(r"^(heed::)?(nn|train)::(?=[A-Z])", "", text)
        if text in self.values:
            return self.enumerator(*self.values[text])
        scope, _, name = text.rpartition("::")
        if scope in self.structs:
            return self.member(self.structs[scope], name)
        if scope:
            return self.call(scope, name)
        if text in self.structs and re.search(r"[a-z][A-Z]", text):
            return self.struct(self.structs[text])
        if text in self.bare:
            return self.enumerator(*self.bare[text])
        return self.constant(self.constants[text]) if text in self.constants else text

    def __call__(self, lines: List[str]) -> List[str]:
        """Omits examples, since they are in C++."""
        kept = [line for line in lines if not re.match(r"  .*([;{}]|//|\.\.\.$)", line)]
        kept = [line for i, line in enumerate(kept) if line or (i and kept[i - 1])]
        return [line if line.startswith("  ") else re.sub(r"(?<![<\w/.])[A-Za-z_]\w*(?:::\w+)*", self._word, line) for line in kept]


class InC(Translation):
    def __init__(self, made: Interface, include: pathlib.Path, generated: Set[str]) -> None:
        super().__init__(made)
        self.known = set(generated)
        for header in (include / "c").glob("*.h"):
            self.known |= set(re.findall(r"\bheed_\w+", header.read_text()))

    def enumerator(self, enum: str, value: str) -> str:
        return self.made.c_enumerator(enum, value)

    def call(self, scope: str, name: str) -> str:
        c = f"heed_{snake(scope.rsplit('::', 1)[-1])}_{name}"
        return c if c in self.known else f"{scope}::{name}"

    def member(self, struct: str, name: str) -> str:
        return f"{self.made.c_struct(struct)}::{name}"

    def struct(self, struct: str) -> str:
        return self.made.c_struct(struct)

    def constant(self, name: str) -> str:
        return self.made.c_constant(name)


class InPython(Translation):
    def enumerator(self, enum: str, value: str) -> str:
        return f'"{snake(value)}"'

    def call(self, scope: str, name: str) -> str:
        return f"{scope.rsplit('::', 1)[-1]}.{name}" if scope[0].isupper() else f"{scope.replace('::', '.')}.{name}"

    def member(self, struct: str, name: str) -> str:
        return f"{struct.rsplit('::', 1)[-1]}.{name}"

    def struct(self, struct: str) -> str:
        return struct.rsplit("::", 1)[-1]

    def constant(self, name: str) -> str:
        return snake(name.rsplit("::", 1)[-1].removeprefix("k")).upper()

    def __call__(self, lines: List[str]) -> List[str]:
        lines = super().__call__(lines)
        return [re.sub(r"\b(F32|F16|BF16|I32|U8)\b", lambda m: m.group().lower(), line).replace("\\", "\\\\") for line in lines]


