#!/usr/bin/env python3
"""Writes declarations of the C interface for C# and Zig, from include/heed/c/heed.h, and compares the layouts of structs with a C
compiler's.

  declarations.py FOLDER [LIBRARY]   writes Heed.cs and heed.zig there; one line per check, exit code 1 if one fails, 3 without
  pycparser

The layouts are computed here, and by the compilers if they are installed: mcs (mono), and zig or PyPI's ziglang. With LIBRARY, a
shared libheed, their programs also call it.
"""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import pycparser
    from pycparser import c_ast
except ImportError:
    print("python3-pycparser is not installed")
    sys.exit(3)

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include"
# C's type: C#'s, Zig's, bytes.
NUMBERS = {
    "int32_t": ("int", "i32", 4), "uint32_t": ("uint", "u32", 4), "int64_t": ("long", "i64", 8),
    "uint64_t": ("ulong", "u64", 8), "size_t": ("UIntPtr", "usize", 8), "float": ("float", "f32", 4),
    "double": ("double", "f64", 8), "void": ("void", "void", 0),
}
POINTER = ("IntPtr", "?*const anyopaque", 8)


def read_header(folder):
    """The header's declarations. System headers are replaced by the types above."""
    fake = folder / "include"
    (fake / "heed").mkdir(parents=True, exist_ok=True)
    types = "typedef int int32_t; typedef unsigned uint32_t; typedef long int64_t; typedef unsigned long uint64_t;\n"
    (fake / "stdint.h").write_text(f"#pragma once\n{types}#define UINT64_MAX 0xffffffffffffffff\n")
    (fake / "stddef.h").write_text("#pragma once\ntypedef unsigned long size_t;\n")
    (fake / "heed" / "export.hpp").write_text("#define HEED_API\n")
    text = subprocess.run(["cc", "-E", "-P", "-nostdinc", f"-I{fake}", f"-I{INCLUDE}", "-x", "c",
                           INCLUDE / "heed" / "c" / "heed.h"], check=True, capture_output=True, text=True).stdout
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    shutil.rmtree(fake)
    return pycparser.CParser().parse(text)


class Interface:
    def __init__(self, tree):
        self.constants, self.structs, self.functions, self.aliases = [], {}, {}, {}
        self.sizes = {}  # by struct: bytes, alignment
        for node in tree.ext:
            if isinstance(node, c_ast.Typedef):
                self.take_type(node)
            elif isinstance(node.type, c_ast.FuncDecl):
                arguments = [(p.name, self.types_of(p.type)) for p in node.type.args.params if p.name]
                self.functions[node.name] = (self.types_of(node.type.type), arguments)
            elif isinstance(node.type, c_ast.Enum):
                following = 0
                for entry in node.type.values.enumerators:
                    following = self.number_of(entry.value) if entry.value else following
                    self.constants.append((entry.name, following))
                    following += 1

    def number_of(self, node):
        return -int(node.expr.value, 0) if isinstance(node, c_ast.UnaryOp) else int(node.value, 0)

    def take_type(self, node):
        inner = node.type.type
        if not isinstance(inner, c_ast.Struct):
            if node.name not in NUMBERS:
                self.aliases[node.name] = inner.names[0]
        elif inner.decls:
            self.structs[node.name] = [(member.name, self.types_of(member.type)) for member in inner.decls]
            lines = list(self._layout_of(node.name))
            widest = max(self.alignment(types) for _, types in self.structs[node.name])
            self.sizes[node.name] = int(lines[0].split()[1]), widest

    def types_of(self, node):
        if isinstance(node, (c_ast.PtrDecl, c_ast.ArrayDecl)):
            return POINTER
        name = node.type.names[0]
        if name in self.sizes:
            return (name, name, self.sizes[name][0])
        return NUMBERS[self.aliases.get(name, name)]

    def alignment(self, types):
        return self.sizes[types[0]][1] if types[0] in self.sizes else types[2]

    def _layout_of(self, name):
        """A struct's bytes, and the offset of each member, at the next multiple of its alignment."""
        lines, at, widest = [], 0, 1
        for member, types in self.structs[name]:
            alignment = self.alignment(types)
            at = -(-at // alignment) * alignment
            lines.append(f"  {member} {at} {types[2]}")
            at, widest = at + types[2], max(widest, alignment)
        return [f"{name} {-(-at // widest) * widest}", *lines]

    def layout(self):
        return [line for name in self.structs for line in self._layout_of(name)]

    def compiled_layout(self, compiler="cc"):
        """The same lines from a C compiler."""
        lines = ["#include <stdio.h>", "#include <heed/c/heed.h>", "int main(void) {"]
        for name, members in self.structs.items():
            lines.append(f'  printf("{name} %zu\\n", sizeof({name}));')
            for member, _ in members:
                lines.append(f'  printf("  {member} %zu %zu\\n", offsetof({name}, {member}), sizeof((({name}*)0)->{member}));')
        lines += ["  return 0;", "}"]
        with tempfile.TemporaryDirectory() as folder:
            source, program = pathlib.Path(folder, "layout.c"), pathlib.Path(folder, "layout")
            source.write_text("\n".join(lines) + "\n")
            subprocess.run([compiler, "-std=c99", f"-I{INCLUDE}", source, "-o", program], check=True)
            return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


def csharp(interface):
    def named(name):
        return f"@{name}"  # some are keywords of C#

    yield "// heed in C#, made from heed.h."
    yield "using System;\nusing System.Runtime.InteropServices;\n\npublic static class Heed {"
    for name, value in interface.constants:
        yield f"  public const int {name} = {value};"
    for name, members in interface.structs.items():
        yield f"\n  [StructLayout(LayoutKind.Sequential)]\n  public struct {name} {{"
        yield from (f"    public {types[0]} {named(member)};" for member, types in members)
        yield "  }"
    yield ""
    for name, (result, arguments) in interface.functions.items():
        given = ", ".join(f"{types[0]} {named(argument)}" for argument, types in arguments)
        yield '  [DllImport("heed", CallingConvention = CallingConvention.Cdecl)]'
        yield f"  public static extern {result[0]} {name}({given});"
    yield "}"


def zig(interface):
    def named(name):
        return f'@"{name}"'

    yield "// heed in Zig, made from heed.h."
    for name, value in interface.constants:
        yield f"pub const {name}: i32 = {value};"
    for name, members in interface.structs.items():
        yield f"\npub const {name} = extern struct {{"
        yield from (f"    {named(member)}: {types[1]}," for member, types in members)
        yield "};"
    yield ""
    for name, (result, arguments) in interface.functions.items():
        given = ", ".join(f"{named(argument)}: {types[1]}" for argument, types in arguments)
        yield f"pub extern fn {name}({given}) {result[1]};"


def csharp_check(interface, library):
    yield "using System;\nusing System.Runtime.InteropServices;\n\npublic static class Check {\n  public static void Main() {"
    for name, members in interface.structs.items():
        yield f'    Console.WriteLine("{name} " + Marshal.SizeOf(typeof(Heed.{name})));'
        for member, (_, _, size) in members:
            yield f'    Console.WriteLine("  {member} " + Marshal.OffsetOf(typeof(Heed.{name}), "{member}") + " {size}");'
    if library:
        yield '    if (Heed.heed_dtype_bytes(Heed.HEED_Q8_0, 64) != 68) throw new Exception("heed_dtype_bytes");'
        yield '    if (Heed.heed_plan_destroy((IntPtr)5) != Heed.HEED_INVALID_ARGUMENT) throw new Exception("heed_plan_destroy");'
    yield "  }\n}"


def zig_check(layout, library):
    yield 'const heed = @import("heed.zig");\nconst expect = @import("std").testing.expect;\n\ntest "layout" {'
    struct = None
    for line in layout:
        fields = line.split()
        if line.startswith("  "):
            yield f'    try expect(@offsetOf(heed.{struct}, "{fields[0]}") == {fields[1]});'
        else:
            struct = fields[0]
            yield f"    try expect(@sizeOf(heed.{struct}) == {fields[1]});"
    yield "}"
    if library:
        yield 'test "calls" {\n    try expect(heed.heed_dtype_bytes(heed.HEED_Q8_0, 64) == 68);'
        yield "    try expect(heed.heed_plan_destroy(@ptrFromInt(4096)) == heed.HEED_INVALID_ARGUMENT);\n}"


def blocks(lines):
    """The lines of all structs, sorted by name."""
    return sorted("\n".join(lines).replace("\n  ", ";").splitlines())


def report(what, wanted, got):
    if blocks(wanted) == blocks(got):
        print(f"ok {what}: {len(got)} sizes and places")
        return True
    other = [f"-{line}" for line in wanted if line not in got] + [f"+{line}" for line in got if line not in wanted]
    print(f"FAIL {what}: {'; '.join(other[:8]) or 'members in another order'}")
    return False


def run(what, command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        print(f"FAIL {what}: {' '.join((done.stdout + done.stderr).split())[:600]}")
        return None
    return done.stdout


def write(path, lines):
    path.write_text("\n".join(lines) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    library = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    folder.mkdir(parents=True, exist_ok=True)
    interface = Interface(read_header(folder))
    write(folder / "Heed.cs", csharp(interface))
    write(folder / "heed.zig", zig(interface))
    wanted = interface.compiled_layout()
    symbols = [line[len("HEED_C("):-1] for line in (HERE / "functions.inc").read_text().splitlines() if line.startswith("HEED_C(")]
    good = report("declarations", wanted, list(interface.layout()))
    good &= report("declared functions", symbols, sorted(interface.functions))
    if shutil.which("mcs") and shutil.which("mono"):
        write(folder / "Check.cs", csharp_check(interface, library))
        made = run("C#", ["mcs", "-out:check.exe", "Heed.cs", "Check.cs"], cwd=folder)
        if made is not None and library:
            write(folder / "check.exe.config",
                  [f'<configuration><dllmap dll="heed" target="{library}"/></configuration>'])
        told = None if made is None else run("C#", ["mono", "check.exe"], cwd=folder)
        good &= told is not None and report("C#", wanted, told.splitlines())
    else:
        print("SKIPPED: C#: mcs and mono are not installed")
    compiler = ["zig"] if shutil.which("zig") else [sys.executable, "-m", "ziglang"] if importlib.util.find_spec("ziglang") else None
    if compiler:
        write(folder / "check.zig", zig_check(wanted, library))
        found = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)} if library else None
        told = run("Zig", [*compiler, "test", "check.zig", "-lc", *([str(library)] if library else [])], cwd=folder, env=found)
        good &= told is not None
        if told is not None:
            print("ok Zig: sizes and places")
    else:
        print("SKIPPED: Zig: neither zig nor PyPI's ziglang is installed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
