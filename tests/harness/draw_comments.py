#!/usr/bin/env python3
"""Draws comments and sentences of documentation at random, for a reader who judges whether they are plain.

  draw_comments.py [--seed N] [--comments N] [--sentences N] [PATH...]

Prints the seed, then each comment with its file, line and the code that follows, then sentences of Markdown files. PATH restricts the draw
to files or folders. Generated files are left out.
"""
import argparse
import ast
import pathlib
import random
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SLASHES = {".cpp", ".hpp", ".h", ".c", ".inc", ".comp", ".glsl", ".vert", ".frag", ".rs", ".cs", ".zig", ".js"}
HASHES = {".py", ".sh", ".cmake", ".gd", ".txt"}
# Marks for tools and ends of namespaces are no sentences.
MARK = re.compile(r"(NOLINT|noqa|clang-format|namespace|HEED_\w+_(HPP|H|GLSL|INL)\b|---|\$|!)")
# Code before a trailing comment; a mark inside a string begins none.
CODE = r"""^((?:[^"'#/]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|/(?!/)|{other})*?)(?:^|(?<=\s)){mark} ?(.*)$"""
WITH_SLASHES = re.compile(CODE.format(mark="//", other="#|'"))
WITH_HASHES = re.compile(CODE.format(mark="#(?!!)", other="/|[\"'#]"))


def files(paths, pattern):
    names = subprocess.run(["git", "ls-files", "-z", "--", *paths], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wanted = [name for name in names.split("\0") if name and pattern(pathlib.PurePath(name))]
    made = subprocess.run(["git", "check-attr", "-z", "--stdin", "linguist-generated"], cwd=ROOT, input="\0".join(wanted),
                          capture_output=True, text=True, check=True).stdout.split("\0")
    generated = {made[i] for i in range(0, len(made) - 2, 3) if made[i + 2] not in ("unspecified", "unset", "false")}
    return [name for name in wanted if name not in generated]


def has_comments(path):
    return path.suffix in SLASHES | HASHES and (path.suffix != ".txt" or path.name in ("CMakeLists.txt", "variants.txt"))


def docstrings(source):
    """Yields the line and the text of each docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text.split("\n"), source.split("\n")[node.lineno - 1 if hasattr(node, "lineno") else 0]


def comments(name):
    """Lists the comments of a file: (line, lines of text, code). Comment lines below each other, in one column, are one comment."""
    source = (ROOT / name).read_text(encoding="utf-8", errors="replace")
    suffix = pathlib.PurePath(name).suffix
    found = list(docstrings(source)) if suffix == ".py" else []
    pattern = WITH_SLASHES if suffix in SLASHES else WITH_HASHES
    lines, last = source.split("\n"), None
    for number, line in enumerate(lines, 1):
        match = pattern.match(line)
        if not match or MARK.match(match[2]) or not re.search("[A-Za-z]{2}", match[2]):
            last = None
            continue
        code, column = match[1].strip(), match.start(2)
        if last == column and not code:
            found[-1][1].append(match[2])
        else:
            found.append((number, [match[2]], code))
        last = column
    return [(at, text, code or next((line for line in lines[at - 1 + len(text):] if line.strip()), "")) for at, text, code in found]


def sentences(name):
    """Lists the sentences of a Markdown file: (line, text). Code and tables are left out."""
    found, fenced, paragraph = [], False, []
    for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").split("\n") + [""], 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if fenced or not line.strip() or re.match(r"\s*(```|\||#|<|!\[)", line) or re.match(r"\s*([-*]|\d+\.) ", line):
            if paragraph:
                text = " ".join(part.strip() for _, part in paragraph)
                found += [(paragraph[0][0], part) for part in re.split(r"(?<=[.!?]) +(?=[A-Z`*\[])", text) if len(part) > 20]
            paragraph = []
        if not fenced and re.match(r"\s*([-*]|\d+\.)? *[\w`*\[\"(]", line):
            paragraph.append((number, re.sub(r"^\s*([-*]|\d+\.) +", "", line)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--comments", type=int, default=200)
    parser.add_argument("--sentences", type=int, default=50)
    parser.add_argument("paths", nargs="*", default=["."])
    wanted = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if wanted.seed is None else wanted.seed
    chance = random.Random(seed)
    print(f"seed {seed}")
    drawn = [(name, *comment) for name in files(wanted.paths, has_comments) for comment in comments(name)]
    prose = [(name, *sentence) for name in files(wanted.paths, lambda path: path.suffix == ".md") for sentence in sentences(name)]
    print(f"{min(wanted.comments, len(drawn))} of {len(drawn)} comments\n")
    for name, line, text, code in chance.sample(drawn, min(wanted.comments, len(drawn))):
        print(f"{name}:{line}", *(f"    {part}" for part in text), f"  > {code.strip()[:120]}", "", sep="\n")
    print(f"{min(wanted.sentences, len(prose))} of {len(prose)} sentences\n")
    for name, line, text in chance.sample(prose, min(wanted.sentences, len(prose))):
        print(f"{name}:{line}", f"    {text}", "", sep="\n")


if __name__ == "__main__":
    main()
