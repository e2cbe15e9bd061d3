"""Writes _ffi.py, which declares the C interface to Python: make_ffi.py HEED_H FFI_PY. Run by CMake.

cffi has no preprocessor. The headers do not need one: besides includes, guards and HEED_API they contain only what cffi understands.
"""

import pathlib
import re
import sys

import cffi


def declarations(header, seen):
    """The text of a header, after those that it includes, each once."""
    if header in seen:
        return ""
    seen.add(header)
    text = header.read_text()
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.S)
    parts = "".join(declarations(header.parent / name, seen) for name in re.findall(r"#include <heed/c/(\w+\.h)>", text))
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"^#.*\n", "", text, flags=re.M)
    return parts + text.replace("HEED_API ", "")


def main():
    header, target = map(pathlib.Path, sys.argv[1:])
    ffi = cffi.FFI()
    ffi.set_source("heed._ffi", None)  # no C compiler is used: the library is loaded, and layouts are those of the platform
    ffi.cdef(declarations(header, set()))
    ffi.emit_python_code(str(target))


main()
