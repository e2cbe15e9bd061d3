#!/usr/bin/env python3
"""Reads include/heed/c/*.h and compares the functions and structs that they declare with the committed lists.

  interface.py [COMPILER]   one line per check, and exit code 1 if one fails
  interface.py --update     writes the lists anew

symbols.txt has the functions, in the order of their names. layout.txt has each struct with its bytes, and each member with its
place and bytes, as a C compiler for 64-bit machines lays them out. What a minor version may change in them is in
include/heed/c/README.md.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include"


def text_of_headers():
    texts = [path.read_text() for path in sorted((INCLUDE / "heed" / "c").glob("*.h"))]
    return re.sub(r"//[^\n]*", "", "\n".join(texts))


def functions(text):
    return sorted(re.findall(r"HEED_API\s[^;]*?\b(heed_\w+)\s*\(", text))


def member_names(body):
    """The names of a struct's members, in their order."""
    for declaration in body.split(";"):
        declaration = declaration.strip()
        function = re.match(r"[^(]*\(\s*\*\s*(\w+)\s*\)", declaration)
        if function:
            yield function.group(1)
        elif declaration:
            for part in declaration.split(","):
                yield re.search(r"(\w+)\s*(\[[^]]*\])?$", part.strip()).group(1)


def structs(text):
    """(name, members), in the order of the headers."""
    return [(name, list(member_names(body)))
            for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.DOTALL)]


def layout(found, compiler):
    lines = ["#include <stdio.h>", "#include <heed/c/heed.h>", "int main(void) {"]
    for name, members in found:
        lines.append(f'  printf("{name} %zu\\n", sizeof({name}));')
        for member in members:
            lines.append(f'  printf("  {member} %zu %zu\\n", offsetof({name}, {member}), sizeof((({name}*)0)->{member}));')
    lines += ["  return 0;", "}"]
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "layout.c"), pathlib.Path(folder, "layout")
        source.write_text("\n".join(lines) + "\n")
        subprocess.run([compiler, "-std=c99", f"-I{INCLUDE}", source, "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


def has_padding(lines):
    """The first struct of the layout with bytes between or behind its members."""
    size, at, name = 0, 0, None
    for line in lines + ["end 0"]:
        fields = line.split()
        if line.startswith("  "):
            if int(fields[1]) != at:
                return f"{name} before {fields[0]}"
            at += int(fields[2])
            continue
        if name and at != size:
            return f"{name} at its end"
        name, size, at = fields[0], int(fields[1]), 0
    return None


def compare(what, path, lines):
    kept = path.read_text().splitlines()
    if kept == lines:
        print(f"ok {what}: {len(lines)} lines as in {path.name}")
        return True
    other = [f"-{line}" for line in kept if line not in lines] + [f"+{line}" for line in lines if line not in kept]
    print(f"FAIL {what}: not as in {path.name}: {'; '.join(other[:8]) or 'another order'}")
    return False


def main():
    text = text_of_headers()
    update = "--update" in sys.argv
    compiler = next((a for a in sys.argv[1:] if not a.startswith("-")), "cc")
    names, lines = functions(text), layout(structs(text), compiler)
    if len(names) != text.count("HEED_API"):
        sys.exit(f"FAIL {text.count('HEED_API')} times HEED_API, but {len(names)} functions")
    if update:
        (HERE / "symbols.txt").write_text("\n".join(names) + "\n")
        (HERE / "layout.txt").write_text("\n".join(lines) + "\n")
    good = compare("functions", HERE / "symbols.txt", names)
    good &= compare("structs", HERE / "layout.txt", lines)
    padding = has_padding(lines)
    print(f"FAIL structs: padding in {padding}" if padding else "ok structs: no padding")
    return 0 if good and not padding else 1


if __name__ == "__main__":
    sys.exit(main())
