#!/usr/bin/env python3
"""Writes the public headers with their plain // comments as Doxygen wants them.

  comments.py FROM TO    TO: a folder that becomes like FROM

The comment at the head of a file is that of the file; one above a declaration or behind it is that of the declaration, and of the functions
that follow without a blank line or a comment of their own. Indented lines are examples. Every line stays where it is, so that warnings name
the right ones. What only heed's own sources can use (detail::) is left out.
"""
import pathlib
import re
import sys

WHOLE = re.compile(r"^( *)// ?(.*)$")
BEHIND = re.compile(r'^( *[^/ ](?:[^/"]|/(?!/)|"[^"]*")*?)( *)// (.*)$')
# What the same sentence says of every type, so that headers need not.
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
    """Text of which Doxygen takes nothing for a command, but for `code`."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([\\<>#@%&$*_~|])", r"\\\1", part) for part in parts)


def block(indent, lines):
    """The lines of a comment, whose examples become blocks of code."""
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


def indent_of(line):
    return len(line) - len(line.lstrip(" "))


def split_members(code, text):
    """`T a = 1, b = 2;` as two declarations, each with the comment."""
    m = re.match(r"^( +(?:std::)?[\w:<>]+(?: ?\*)? )(\w+(?: = [^,(){}]+| = \{\})?(?:, \w+(?: = [^,(){}]+| = \{\})?)+);$", code)
    return " ".join(f"{m[1] if i == 0 else m[1].strip()} {part}; /**< {text} */" for i, part in enumerate(m[2].split(", "))) if m else None


def filtered(name, source):
    lines, at = source.split("\n"), 0
    while at < len(lines) and lines[at].startswith("//"):
        at += 1
    out, head = lines[:at], [line[2:].removeprefix(" ") for line in lines[:at]]
    # The comment that later functions share, that of the struct, and whether the next line begins a declaration.
    run, struct, begins = [], [], True
    while at < len(lines):
        line = lines[at]
        if line.strip() == "private:":
            while not (lines[at].strip() == "};" and indent_of(lines[at]) < indent_of(line)):
                out.append("")
                at += 1
            line = lines[at]
        whole, behind = WHOLE.match(line), BEHIND.match(line)
        if "detail::" in line and line.rstrip().endswith((";", "}", ": impl_(std::move(impl)) {}")) and begins:
            out.append("")
            at += 1
            continue
        if whole:
            end = at
            while end < len(lines) and (m := WHOLE.match(lines[end])) and len(m[1]) == len(whole[1]):
                end += 1
            if whole[2].startswith("---"):  # the heading of a section
                out.append(line)
                at += 1
                continue
            texts = [WHOLE.match(one)[2] for one in lines[at:end]]
            below = lines[end].strip() if end < len(lines) else ""
            if below and not below.startswith(("}", "#if", "#endif")):
                split = split_members(BEHIND.sub(r"\1", lines[end]), plain(" ".join(texts)))
                if split:
                    out += [""] * len(texts) + [split]
                    end += 1
                else:
                    out += block(whole[1], texts)
                    run = [text for text in texts if not text.startswith("  ")]
            else:
                out += lines[at:end]
            at, begins = end, False
            if split if (below and not below.startswith(("}", "#if", "#endif"))) else False:
                begins = True
            continue
        if behind and not behind[1].lstrip().startswith("}") and re.search(r"[;,{})\w>]$", behind[1]):
            column, texts, end = len(behind[1]) + len(behind[2]), [behind[3]], at + 1
            while end < len(lines) and (m := WHOLE.match(lines[end])) and len(m[1]) == column:
                texts.append(m[2])
                end += 1
            split = split_members(behind[1], plain(" ".join(texts)))
            if split:
                out += [split] + [""] * (len(texts) - 1)
            else:
                out.append(f"{behind[1]}{behind[2]}///< {plain(texts[0])}")
                out += [f"{' ' * column}///< {plain(text)}" for text in texts[1:]]
            if begins:
                run = texts
            at, begins = end, behind[1].endswith((";", "}"))
            continue
        code = line.strip()
        if not code or code.startswith("}") or code.endswith(":"):
            run, struct = (struct, []) if code.startswith("}") and indent_of(line) == 0 else ([], struct)
            begins = True
        elif begins and (stock := next((text for pattern, text in CONVENTIONS if pattern.search(line)), None)):
            line = f"/** {plain(stock)} */ " + line
        elif begins and run and re.match(r"(?!#(?!define))[#\w:<>\[\] *&]+(\(| = |\{|\d)", code) and not code.startswith(("struct ", "enum ", "class ", "typedef ")):
            line = f"/** {plain(' '.join(run))} */ " + line
        if code.endswith((";", "}", "{")):
            begins = True
            if code.endswith("{"):
                struct = run if indent_of(line) == 0 and re.match("(typedef )?(struct|enum)", code) else struct
                run = []
        elif code:
            begins = code.startswith("#") or code.endswith(":")
        out.append(line)
        at += 1
    return "\n".join([*out, f"/// @file {name}", *block("", head), ""])


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    for header in [*source.rglob("*.hpp"), *source.rglob("*.h")]:
        path = target / header.relative_to(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(filtered(header.name, header.read_text()))


if __name__ == "__main__":
    main()
