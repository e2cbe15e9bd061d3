#!/usr/bin/env python3
"""Writes the reference of the Python package with pdoc. The compiled library is not needed.

  python_reference.py FOLDER    writes FOLDER/python; one line per public name without a docstring, and exit code 1 if there is one
"""
import dataclasses
import inspect
import pathlib
import sys
import types
import warnings
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "engine/python"))
# Stand-ins for the C functions and arrays that the package reads when it is imported.
sys.modules["heed._ffi"] = types.SimpleNamespace(ffi=mock.MagicMock(name="ffi"))
try:
    import numpy  # noqa: F401
except ImportError:
    sys.modules["numpy"] = numpy = types.ModuleType("numpy")
    numpy.__getattr__ = lambda name: type(name, (), {"__module__": "numpy", "__init__": lambda self, *_: None})

import heed  # noqa: E402
import pdoc  # noqa: E402
import pdoc.render  # noqa: E402
from heed import _operations  # noqa: E402

MODULES = ["heed", "heed.nn", "heed.train", "heed.onnx"]


def adopt(cls, base):
    """Copies members of a private base to `cls`, so that pdoc shows them."""
    for name, member in vars(base).items():
        if not name.startswith("_") and name not in vars(cls):
            if inspect.isfunction(member):
                member.__module__, member.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"
            setattr(cls, name, member)


def public(doc):
    return [member for member in (doc.members.values() if doc.kind == "module" else doc.own_members) if not member.name.startswith("_")]


def undocumented(doc):
    """Returns the full names of functions, classes and properties without a docstring. Fields are described by the docstring of their
    class."""
    for member in public(doc):
        if member.kind == "module":
            continue
        if not member.docstring and (member.kind != "variable" or isinstance(vars(getattr(doc, "obj", None)).get(member.name), property)):
            yield member.fullname
        if member.kind == "class":
            yield from undocumented(member)


def fields(docs):
    """Returns the full names of the fields of dataclasses, which the class and its constructor already show."""
    return {member.fullname for doc in docs for cls in public(doc) if cls.kind == "class" and dataclasses.is_dataclass(cls.obj)
            for member in cls.own_members if member.kind == "variable" and not member.docstring}


def main():
    folder = pathlib.Path(sys.argv[1])
    warnings.filterwarnings("ignore", "Error parsing type annotation")  # it is then shown as it stands
    for cls in vars(heed).values():
        if inspect.isclass(cls):
            for base in cls.__mro__[1:]:
                if base.__module__.startswith("heed"):
                    adopt(cls, base)
    bar = (HERE / "bar.html").read_text()
    pdoc.render.configure(template_directory=HERE / "templates", show_source=False, search=False)
    pdoc.render.env.globals["bar"] = lambda root: bar.replace("@ROOT@", root)
    docs = {name: pdoc.doc.Module(__import__(name, fromlist=["_"])) for name in MODULES}
    pdoc.render.env.globals["fields"] = fields(docs.values())
    missing = sorted({name for doc in docs.values() for name in undocumented(doc)})
    for name, doc in docs.items():
        path = folder / "python" / (name.replace(".", "/") + ".html")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pdoc.render.html_module(doc, docs))
    for name in missing:
        print(f"FAIL {name} has no docstring")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
