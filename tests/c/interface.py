#!/usr/bin/env python3
"""Reads the headers of include/heed/c and writes what checks and other languages need of them.

  interface.py symbols             the functions, one HEED_C(name) a line: symbols.inc
  interface.py layout-program      a C program, also C++, that prints the table layout.txt
  interface.py layout              the same table, worked out by the rules of a 64-bit C compiler
  interface.py declarations        the headers as one, without comments: released.h is that of the last release
  interface.py library HEADER      a C library with every function of such a header, which does nothing: abidiff reads it
  interface.py compare OLD NEW     fails if numbers changed or went, or structs without `size` differ, between such headers
  interface.py csharp              declarations for C#: structs, constants, functions
  interface.py csharp-layout       C# that prints the table, by Marshal
  interface.py zig                 declarations for Zig
  interface.py zig-layout          Zig that prints the table
"""
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "include/heed/c"
PARTS = ["base", "device", "graph", "nn", "state", "plan", "files", "models", "text", "vulkan"]
SIZES = {"int32_t": 4, "uint32_t": 4, "float": 4, "int64_t": 8, "uint64_t": 8, "double": 8, "size_t": 8}


def stripped():
    """The declarations of all headers, without comments and lines of the preprocessor."""
    text = "\n".join((FOLDER / f"{part}.h").read_text() for part in PARTS)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif", "", text, flags=re.S)
    text = re.sub(r"^#[^\n]*", "", text, flags=re.M)
    return re.sub(r" +\n", "\n", text)


class Interface:
    def __init__(self, text=None):
        text = text or stripped()
        text = re.sub(r"//[^\n]*", "", text)
        text = re.sub(r"^#[^\n]*", "", text, flags=re.M)
        text = re.sub(r"\s+", " ", text)
        self.constants = [
            (name, int(value)) for name, value in re.findall(r"\b(HEED_[A-Z0-9_]+) = (\d+)", text)]
        self.handles = re.findall(r"typedef struct (\w+) \1;", text)
        self.aliases = dict((name, base) for base, name in re.findall(r"typedef (\w+) (\w+);", text))
        self.structs = {}
        for body, name in re.findall(r"typedef struct \w+ \{([^{}]*)\} (\w+);", text):
            self.structs[name] = self.members(body)
        self.functions = []
        for result, name, parameters in re.findall(
                r"HEED_API ((?:const )?\w+\*?) (heed_\w+)\(((?:[^()]|\([^()]*\)(?:\([^()]*(?:\([^()]*\)\([^()]*\))?[^()]*\))?)*)\);",
                text):
            self.functions.append((result, name, self.parameters(parameters)))
        if len(self.functions) != text.count("HEED_API"):
            sys.exit(f"{len(self.functions)} functions of {text.count('HEED_API')} were understood")

    @staticmethod
    def split(text):
        """Parts between commas that are outside of parentheses."""
        depth, part, parts = 0, "", []
        for letter in text:
            depth += (letter == "(") - (letter == ")")
            if letter == "," and depth == 0:
                parts.append(part.strip())
                part = ""
            else:
                part += letter
        return parts + [part.strip()]

    def members(self, body):
        """(name, type) of each; functions have the type "(*)"."""
        result, depth, one, lines = [], 0, "", []
        for letter in body:
            depth += (letter == "(") - (letter == ")")
            if letter == ";" and depth == 0:
                lines.append(one.strip())
                one = ""
            else:
                one += letter
        for line in lines:
            pointer = re.match(r".*?\(\*(\w+)\)\(", line)
            if pointer:
                result.append((pointer[1], "(*)"))
                continue
            first, *others = self.split(line)
            kind, name = first.rsplit(" ", 1)
            result.append((name, kind))
            result += [(other, kind) for other in others]
        return result

    def parameters(self, text):
        """(name, type) of each."""
        if text.strip() == "void":
            return []
        result = []
        for one in self.split(text):
            pointer = re.match(r".*?\(\*(\w+)\)\(", one)
            if pointer:
                result.append((pointer[1], "(*)"))
                continue
            kind, name = one.rsplit(" ", 1)
            array = re.match(r"(\w+)\[\d+\]", name)
            result.append((array[1], kind + "*") if array else (name, kind))
        return result

    def resolved(self, kind):
        while kind in self.aliases:
            kind = self.aliases[kind]
        return kind

    def size(self, kind):
        return 8 if "*" in kind else SIZES[self.resolved(kind)]

    def layout(self):
        """(struct, size, [(member, offset, size)])"""
        for name, members in self.structs.items():
            at, places, widest = 0, [], 1
            for member, kind in members:
                size = self.size(kind)
                at = (at + size - 1) // size * size
                places.append((member, at, size))
                at += size
                widest = max(widest, size)
            yield name, (at + widest - 1) // widest * widest, places


def header_of_table():
    return "# What tests/c/interface.py layout says of 64-bit platforms: sizes, then offsets and sizes of members."


def layout(api):
    print(header_of_table())
    for name, size, places in api.layout():
        print(f"{name} {size}")
        for member, at, bytes_ in places:
            print(f"  {member} {at} {bytes_}")


def layout_program(api):
    print("#include <stdio.h>\n#include <heed/c/heed.h>\nint main(void) {")
    print(f'  puts("{header_of_table()}");')
    for name, members in api.structs.items():
        print(f'  printf("{name} %u\\n", (unsigned)sizeof({name}));')
        for member, _ in members:
            print(f'  printf("  {member} %u %u\\n", (unsigned)offsetof({name}, {member}), '
                  f"(unsigned)sizeof((({name}*)0)->{member}));")
    print("  return 0;\n}")


def symbols(api):
    print("// The functions of the C interface, as tests/c/interface.py symbols writes them.")
    for name in sorted(name for _, name, _ in api.functions):
        print(f"HEED_C({name})")


def declarations(_):
    print("// The C interface of the last release, as tests/c/interface.py declarations wrote it then.")
    print("#include <stddef.h>\n#include <stdint.h>\n#define HEED_API")
    print(re.sub(r"\n\s*\n+", "\n", stripped()).strip())


def library(header):
    text = pathlib.Path(header).read_text()
    print(f'#include "{pathlib.Path(header).resolve()}"')
    for declaration in re.findall(r"^HEED_API ([^;]*\));", text, flags=re.M):
        print(f"{declaration} {{ return 0; }}")


def compare(old, new):
    old, new = (Interface(pathlib.Path(header).read_text()) for header in (old, new))
    wrong = [f"{name} was {value}" for name, value in old.constants if (name, value) not in new.constants]
    for name, members in old.structs.items():
        now = new.structs.get(name, [])
        if now[:len(members)] != members or (members[0] != ("size", "size_t") and now != members):
            wrong.append(f"{name} had {members}, and has {now}")
    return "\n".join(wrong)


# C# -------------------------------------------------------------------------------------------------------------

CSHARP = {"int32_t": "int", "uint32_t": "uint", "float": "float", "int64_t": "long", "uint64_t": "ulong",
          "double": "double", "size_t": "UIntPtr", "void": "void"}
CSHARP_WORDS = {"in", "out", "params", "base", "fixed", "lock", "ref", "string", "object", "event"}


def csharp_type(api, kind):
    if "*" in kind or "(" in kind:
        return "IntPtr"
    return CSHARP[api.resolved(kind)]


def csharp_name(name):
    return f"@{name}" if name in CSHARP_WORDS else name


def csharp(api):
    print("// Written by tests/c/interface.py from include/heed/c.\nusing System;\n"
          "using System.Runtime.InteropServices;\n\npublic static class Heed {")
    for name, value in api.constants:
        print(f"  public const int {name} = {value};")
    for name, members in api.structs.items():
        print(f"  [StructLayout(LayoutKind.Sequential)] public struct {name} {{")
        for member, kind in members:
            print(f"    public {csharp_type(api, kind)} {csharp_name(member)};")
        print("  }")
    for result, name, parameters in api.functions:
        listed = ", ".join(f"{csharp_type(api, kind)} {csharp_name(one)}" for one, kind in parameters)
        print(f'  [DllImport("heed")] public static extern {csharp_type(api, result)} {name}({listed});')
    print("}")


def csharp_layout(api):
    print("using System;\nusing System.Runtime.InteropServices;\npublic static class Layout {\n"
          "  public static void Main() {")
    print(f'    Console.WriteLine("{header_of_table()}");')
    for name, members in api.structs.items():
        print(f'    Console.WriteLine("{name} " + Marshal.SizeOf(typeof(Heed.{name})));')
        for member, kind in members:
            print(f'    Console.WriteLine("  {member} " + Marshal.OffsetOf(typeof(Heed.{name}), "{member}") + " " + '
                  f"Marshal.SizeOf(typeof({csharp_type(api, kind)})));")
    print("  }\n}")


# Zig ------------------------------------------------------------------------------------------------------------

ZIG = {"int32_t": "i32", "uint32_t": "u32", "float": "f32", "int64_t": "i64", "uint64_t": "u64", "double": "f64",
       "size_t": "usize", "void": "void"}


def zig_type(api, kind):
    return "?*anyopaque" if "*" in kind or "(" in kind else ZIG[api.resolved(kind)]


def zig(api):
    print("// Written by tests/c/interface.py from include/heed/c.")
    for name, value in api.constants:
        print(f"pub const {name} = {value};")
    for name, members in api.structs.items():
        print(f"pub const {name} = extern struct {{")
        for member, kind in members:
            print(f"    {member}: {zig_type(api, kind)},")
        print("};")
    for result, name, parameters in api.functions:
        listed = ", ".join(f"{one}: {zig_type(api, kind)}" for one, kind in parameters)
        print(f"pub extern fn {name}({listed}) {zig_type(api, result)};")


def zig_layout(api):
    print('const std = @import("std");\nconst heed = @import("heed.zig");\npub fn main() void {')
    print(f'    std.debug.print("{header_of_table()}\\n", .{{}});')
    for name, members in api.structs.items():
        print(f'    std.debug.print("{name} {{d}}\\n", .{{@sizeOf(heed.{name})}});')
        for member, kind in members:
            print(f'    std.debug.print("  {member} {{d}} {{d}}\\n", .{{ @offsetOf(heed.{name}, "{member}"), '
                  f"@sizeOf({zig_type(api, kind)}) }});")
    print("}")


WRITERS = {"symbols": symbols, "layout-program": layout_program, "layout": layout, "declarations": declarations,
           "csharp": csharp, "csharp-layout": csharp_layout, "zig": zig, "zig-layout": zig_layout}

if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "library":
        sys.exit(library(sys.argv[2]))
    if len(sys.argv) == 4 and sys.argv[1] == "compare":
        sys.exit(compare(*sys.argv[2:]) or 0)
    if len(sys.argv) != 2 or sys.argv[1] not in WRITERS:
        sys.exit(__doc__)
    WRITERS[sys.argv[1]](Interface())
