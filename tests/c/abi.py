#!/usr/bin/env python3
"""Compares the C interface with that of the last release by abidiff, by the rules of include/heed/c/README.md.

  abi.py [LIBRARY]   one line per check, exit code 1 if one fails, 3 without abidiff. LIBRARY: a shared libheed
  abi.py --update    writes abi.xml.gz anew, which a release does

abi.xml.gz is what abidw says of a library with heed.h's functions, all empty: the compiler lets no other library have functions of
these names with other types. A minor version may add functions, and members at the end of structs whose first is `size`.
"""
import gzip
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DUMP = HERE / "abi.xml.gz"
DUMPED = ["--no-show-locs", "--no-comp-dir-path", "--no-corpus-path", "--type-id-style", "hash"]


def text_of(include):
    texts = [path.read_text() for path in sorted((include / "heed" / "c").glob("*.h"))]
    return re.sub(r"//[^\n]*", "", "\n".join(texts))


def soname():
    version = re.search(r"project\(heed VERSION (\d+)\.(\d+)", (ROOT / "CMakeLists.txt").read_text())
    return f"libheed.so.{version[1]}.{version[2]}"


def library_of(include, folder):
    """A library with the functions of these headers, with the types that they have there."""
    source, library = folder / "empty.c", folder / "empty.so"
    lines = ["#include <heed/c/heed.h>"]
    for result, name, arguments in re.findall(r"HEED_API\s+([^;]*?)\b(heed_\w+)\s*\(([^;]*)\);", text_of(include)):
        lines.append(f"{result} {name}({' '.join(arguments.split())}) {{ return 0; }}")
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(["cc", "-std=c99", "-g", "-shared", "-fPIC", "-w", f"-I{include}", f"-Wl,-soname,{soname()}", "-o", library,
                    source], check=True)
    return library


def differences(include, folder):
    """What abidiff finds that a minor version must not change; empty if nothing."""
    versioned = re.findall(r"typedef struct (\w+) \{\s*size_t size;", text_of(include))
    rules, old = folder / "rules.ini", folder / "abi.xml"
    rules.write_text("[suppress_type]\n  type_kind = struct\n  has_data_member_inserted_at = end\n"
                     f"  name_regexp = ^({'|'.join(versioned)})$\n")
    old.write_bytes(gzip.decompress(DUMP.read_bytes()))
    done = subprocess.run(["abidiff", "--suppressions", rules, "--no-added-syms", old, library_of(include, folder)],
                          capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def changed(folder, file, before, after):
    """A copy of the headers with one change."""
    copy = folder / "changed"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT / "include", copy)
    path = copy / "heed" / "c" / file
    text = path.read_text()
    if text.count(before) != 1:
        sys.exit(f"FAIL {file} has {text.count(before)} times: {before}")
    path.write_text(text.replace(before, after))
    return copy


def check(what, passed, why=""):
    print(f"ok {what}" if passed else f"FAIL {what}: {' '.join(why.split())[:600]}")
    return passed


def check_library(library):
    """The library's own name, and that it exports the functions of heed.h and no others of such names."""
    told = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    good = check(f"the library is {soname()}", f"[{soname()}]" in told, told)
    told = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    exported = sorted(re.findall(r" T (heed_\w+)", told))
    wanted = (HERE / "symbols.txt").read_text().split()
    other = [f"-{name}" for name in wanted if name not in exported] + [f"+{name}" for name in exported if name not in wanted]
    return check(f"the library exports {len(wanted)} functions of C", exported == wanted, " ".join(other)) and good


def main():
    if not shutil.which("abidiff") or not shutil.which("abidw"):
        print("abidiff (abigail-tools) is not installed")
        return 3
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if "--update" in sys.argv:
            dump = subprocess.run(["abidw", *DUMPED, library_of(ROOT / "include", folder)], check=True, capture_output=True).stdout
            DUMP.write_bytes(gzip.compress(dump, mtime=0))
            return 0
        found = differences(ROOT / "include", folder)
        good = check("the interface has all that the last release had", found == "", found)
        member, function = "} heed_run_info;", "HEED_API heed_status heed_plan_destroy(heed_plan* plan);"
        allowed = {"a member behind the others": ("plan.h", member, "uint64_t more;\n" + member),
                   "one more function": ("plan.h", function, function + "\nHEED_API int32_t heed_more(void);")}
        refused = {"a member before others": ("plan.h", "  uint32_t seed;  ", "  uint64_t more;\n  uint32_t seed;  "),
                   "a member of a struct without its size": ("base.h", "} heed_extent_value;",
                                                             "int64_t more;\n} heed_extent_value;"),
                   "a function less": ("plan.h", function, ""),
                   "another type": ("plan.h", function, function.replace("heed_status", "uint64_t"))}
        for what, change in allowed.items():
            found = differences(changed(folder, *change), folder)
            good &= check(f"abidiff lets pass {what}", found == "", found)
        for what, change in refused.items():
            good &= check(f"abidiff finds {what}", differences(changed(folder, *change), folder) != "", "it does not")
        for library in sys.argv[1:]:
            good &= check_library(library)
        return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
