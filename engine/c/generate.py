#!/usr/bin/env python3
"""Generates the C, Python and shader versions of the public C++ headers (include/heed/*.hpp), with the headers' comments.

  generate.py           writes the files that changed, and says which
  generate.py --check   changes none; one line per file, and exit code 1 if one is not as this would write it

generator/interface.py lists what differs in C and what is written by hand. Code that the generator does not understand is an error.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE / "generator"))

import write_c  # noqa: E402
import write_python  # noqa: E402
from comments import InC, InPython  # noqa: E402
from headers import Misunderstood  # noqa: E402
from model import Interface  # noqa: E402

INCLUDE = ROOT / "include" / "heed"


def files():
    """The text of each file."""
    made = Interface(INCLUDE)
    names = {made.c_function(f) for f in made.operations + made.layers}
    c = write_c.Writer(made, InC(made, INCLUDE, names))
    functions = re.findall(r"^HEED_FUNCTION\((\w+),", (ROOT / "engine/graph/functions.inc").read_text(), re.MULTILINE)
    python = write_python.Writer(made, InPython(made), of_elements())
    options, operations, layers = c.options_h(), c.operations_h(), c.nn_h()
    return {
        "include/heed/c/enums.h": c.enums_h(),
        "include/heed/c/options.h": options,
        "include/heed/c/operations.h": operations,
        "include/heed/c/nn.h": layers,
        "engine/c/generated/options.hpp": c.options_hpp(),
        "engine/c/generated/options.cpp": c.options_cpp(),
        "engine/c/generated/operations.cpp": c.functions_cpp(made.operations),
        "engine/c/generated/nn.cpp": c.functions_cpp(made.layers),
        "engine/python/heed/_words.py": python.words_py(),
        "engine/python/heed/_options.py": python.options_py(),
        "engine/python/heed/_operations.py": python.operations_py(),
        "engine/python/heed/_layers.py": python.layers_py(),
        "shaders/shared/enums.glsl": c.enums_glsl(functions),
        **functions_of(INCLUDE / "c", {"operations.h": operations, "options.h": options, "nn.h": layers}),
    }


def of_elements():
    """The names of Graph's elementwise functions: those in the header's section 'Elementwise'."""
    section = re.search(r"// --- Elementwise -.*?// --- ", (INCLUDE / "graph.hpp").read_text(), re.DOTALL)
    if section is None:
        raise Misunderstood("graph.hpp has no section 'Elementwise'")
    return set(re.findall(r"^  Tensor (\w+)\(Tensor ", section.group(), re.MULTILINE))


def functions_of(folder, made):
    """The list of all C functions, for the tests that call each."""
    texts = [made[path.name] if path.name in made else path.read_text() for path in sorted(folder.glob("*.h"))]
    text = re.sub(r"//[^\n]*", "", "\n".join(texts))
    names = sorted(re.findall(r"HEED_API\s[^;]*?\b(heed_\w+)\s*\(", text))
    if len(names) != text.count("HEED_API"):
        raise Misunderstood(f"include/heed/c has {text.count('HEED_API')} times HEED_API, but {len(names)} functions")
    return {"tests/c/functions.inc": "\n".join([f"// {write_c.MADE}", *[f"HEED_C({name})" for name in names], ""])}


def main():
    try:
        written = files()
    except Misunderstood as why:
        sys.exit(f"FAIL generate.py: {why}")
    is_check, wrong = "--check" in sys.argv[1:], 0
    for name, text in written.items():
        path = ROOT / name
        is_same = path.exists() and path.read_text() == text
        if is_check:
            print(f"ok {name} is what engine/c/generate.py makes" if is_same else f"FAIL {name} is old or was changed by hand; run engine/c/generate.py")
            wrong += not is_same
        elif not is_same:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            print(f"wrote {name}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
