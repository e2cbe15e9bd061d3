"""The C interface (include/heed/c): its library, statuses as exceptions, handles, options as structs."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import logging
import operator
import os
import pathlib
import re
import sys
import _thread
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import _words
from ._ffi import ffi
from ._words import Status


def _load() -> Any:
    name = {"win32": "heed.dll", "darwin": "libheed.dylib"}.get(sys.platform, "libheed.so")
    return ffi.dlopen(str(pathlib.Path(__file__).parent / name))


lib = _load()

# --- Statuses ------------------------------------------------------------------------------------------------------------


class Error(Exception):
    """A call failed. `status` is the kind of failure; the text has the operation, tensor and values."""

    __module__ = "heed"  # the module that tracebacks show

    def __init__(self, status: int, message: str) -> None:
        try:
            self.status: int = Status(status)
        except ValueError:  # a status of a later version
            self.status = status
        self.message = message
        super().__init__(f"{text(lib.heed_status_text(status))}: {message}" if message else text(lib.heed_status_text(status)))

    def __reduce__(self) -> Any:
        return Error, (int(self.status), self.message)


def text(pointer: Any) -> str:
    return "" if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


def last_error(status: int) -> Error:
    """The last failure. The name of the C function at the beginning of a message is removed."""
    return Error(status, re.sub(r"^heed_\w+: ", "", text(lib.heed_last_message())))


def check(status: int) -> None:
    if status != 0:
        raise last_error(status)


def encoded(value: str, what: str = "text") -> bytes:
    """UTF-8 for a `const char*`; zeros are refused, since they would end the text."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be str, not {type(value).__name__}")
    data = value.encode("utf-8")
    if b"\0" in data:
        raise ValueError(f"{what} holds a zero character: {value!r}")
    return data


# --- Handles -------------------------------------------------------------------------------------------------------------

# Threads, locks and devices of the library do not survive a fork, so the child must neither use nor destroy its parent's objects.
_generation = 0


def _after_fork() -> None:
    global _generation
    _generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Typed:
    """Base of classes that wrap a handle of the C interface, `_c`."""

    @classmethod
    def _c_of(cls, value: Any, what: str) -> Any:
        """The handle of an argument, which must be an instance of this class."""
        if not isinstance(value, cls):
            raise TypeError(f"{what} must be {cls.__name__}, not {type(value).__name__}")
        return value._c


class Handle(Typed):
    """Owns one handle of the C interface, and destroys it when the object is garbage-collected."""

    _kind = ""  # "device", as in heed_device_destroy

    def _own(self, pointer: Any) -> None:
        destroy: Callable[[Any], int] = getattr(lib, f"heed_{self._kind}_destroy")
        self._born = born = _generation
        self._pointer = ffi.gc(pointer, lambda p: destroy(p) if born == _generation else None)

    @property
    def _c(self) -> Any:
        if self._born != _generation:
            raise Error(Status.INVALID_ARGUMENT, f"this {self._kind.replace('_', ' ')} was made before the process forked, "
                                                 "and serves the parent process only; make another one in this process")
        return self._pointer

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} cannot be pickled")


def make(function: Any, *arguments: Any) -> Any:
    """Calls a function whose last parameter receives a handle, and returns that."""
    out = ffi.new(ffi.typeof(function).args[-1].item.cname + " *")
    check(function(*arguments, out))
    return out[0]


def number(function: Any, *arguments: Any) -> int:
    """Calls a function whose last parameter receives a number."""
    out = ffi.new(ffi.typeof(function).args[-1].item.cname + " *")
    check(function(*arguments, out))
    return int(out[0])


def filled(ctype: str, function: Any, *arguments: Any) -> Any:
    """Calls a function whose last parameter is a struct that it fills."""
    out = ffi.new(ctype + " *")
    out.size = ffi.sizeof(ctype)
    check(function(*arguments, out))
    return out


def take_blob(function: Any, *arguments: Any) -> bytes:
    blob = make(function, *arguments)
    try:
        return bytes(ffi.buffer(lib.heed_blob_data(blob), lib.heed_blob_size(blob)))
    finally:
        lib.heed_blob_destroy(blob)


# --- Options -------------------------------------------------------------------------------------------------------------

DTYPE_NAMES: Dict[int, str] = {number: name for name, number in _words.DTYPE.items()}


def word(words: Dict[str, int], value: Any, what: str) -> int:
    """The C number for a word of an enum."""
    try:
        return words[value]
    except (KeyError, TypeError):
        raise ValueError(f"{what} is {value!r}, must be one of {', '.join(map(repr, words))}") from None


def word_if(words: Dict[str, int], value: Any, what: str) -> int:
    """The same, or the C number for none."""
    return -1 if value is None else word(words, value, what)


def word_of(words: Dict[str, int], number: int) -> str:
    return next(name for name, value in words.items() if value == number)


def whole(value: Any, what: str) -> int:
    """An integer or bool. Other numbers are not rounded."""
    try:
        return int(value) if isinstance(value, np.bool_) else operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}, must be a whole number") from None


def truth(value: Any, what: str) -> int:
    """1 or 0 for True, False or an integer."""
    return int(whole(value, what) != 0)


def number_if(value: Optional[int], what: str) -> int:
    """A number >= 0, or the C number for none."""
    if value is not None and whole(value, what) < 0:
        raise ValueError(f"{what} is {value}, must not be negative")
    return -1 if value is None else whole(value, what)


def int32(value: Any, what: str) -> int:
    """An integer of 32 bits, such as an axis."""
    value = whole(value, what)
    if not -(1 << 31) <= value < 1 << 31:
        raise ValueError(f"{what} is {value}, must be at least -2**31 and below 2**31")
    return value


def real(value: Any, what: str) -> float:
    """A number, also one of numpy; no text."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{what} is {value!r}, must be a number")
    try:
        return float(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}, must be a number") from None


def listed(values: Any, what: str) -> List[Any]:
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"{what} must be a list, not {type(values).__name__}") from None


def ints(values: Sequence[int], what: str) -> Tuple[Any, int]:
    array = ffi.new("int32_t[]", [int32(value, f"{what}[{i}]") for i, value in enumerate(listed(values, what))])
    return array, len(array)


def mapped(values: Any, what: str) -> Dict[str, Any]:
    """A dict; empty for None."""
    if values is not None and not isinstance(values, Mapping):
        raise TypeError(f"{what} must be a dict, not {type(values).__name__}")
    return dict(values or {})


def path(value: Any, what: str) -> bytes:
    """The name of a file as C needs it."""
    try:
        return encoded(os.fspath(value), what)
    except TypeError:
        raise TypeError(f"{what} must be a path, not {type(value).__name__}") from None


def blob(value: Any, what: str) -> Any:
    """The memory of a bytes object."""
    try:
        return ffi.from_buffer(value)
    except TypeError:
        raise TypeError(f"{what} must be bytes, not {type(value).__name__}") from None


class Keep(List[Any]):
    """Memory that C reads and writes through pointers, kept until the call is over."""

    def __init__(self) -> None:
        super().__init__()
        self.weights: List[Any] = []  # for each multi-head attention, where its weights are written, or None


def checked(value: Any, kind: Any, what: str) -> Any:
    """An argument, which must be an instance of this class."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} must be {kind.__name__}, not {type(value).__name__}")
    return value


@functools.lru_cache(maxsize=None)
def _inner(kind: Any) -> Dict[str, Any]:
    """The classes of nested options, by the names of their fields."""
    return {f.name: type(f.default_factory()) for f in dataclasses.fields(kind) if f.default_factory is not dataclasses.MISSING}


def _instead(name: str, kinds: Sequence[Any]) -> str:
    """A hint for the message about an unknown field: which nested options have it, or a similar name."""
    within = [f"{field}={kind.__name__}({name}=...)" for outer in kinds for field, kind in _inner(outer).items()
              if name in {f.name for f in dataclasses.fields(kind)}]
    like = within or difflib.get_close_matches(name, [f.name for kind in kinds for f in dataclasses.fields(kind)], 1)
    return "; give " + " or ".join(like) if like else ""


def options_of(fields: Dict[str, Any], **given: Tuple[Any, Any]) -> List[Any]:
    """The options of a call by argument name, each given as (class, options or None), updated with the call's keyword fields."""
    names = [{f.name for f in dataclasses.fields(kind)} for kind, _ in given.values()]
    own: List[Dict[str, Any]] = [{} for _ in given]
    for name, value in fields.items():
        owners = [i for i, known in enumerate(names) if name in known]
        if len(owners) != 1:
            kinds = ", ".join(kind.__name__ for kind, _ in given.values())
            raise TypeError(f"'{name}' is no field of {kinds}{_instead(name, [kind for kind, _ in given.values()])}" if not owners else
                            f"'{name}' is a field of several of {kinds}: give these")
        own[owners[0]][name] = value
    return [kind(**more) if options is None else dataclasses.replace(checked(options, kind, what), **more)
            for (what, (kind, options)), more in zip(given.items(), own)]


def pack(options: Any, keep: Keep, graph: Any = None, what: str = "options") -> Any:
    """The C struct for a dataclass of _options. A field that is None gets C's default. Texts and structs live as long as `keep`."""
    if not hasattr(options, "_ctype"):
        raise TypeError(f"{what} must be options of heed, not {type(options).__name__}")
    struct = ffi.new(options._ctype + " *")
    check(getattr(lib, options._ctype + "_init")(struct))
    keep.append(struct)
    for name, how in options._kinds.items():
        value = getattr(options, name)
        if how == "wanted":
            keep.weights.append(ffi.new("heed_tensor *") if value else None)
            if value:
                setattr(struct, name.removeprefix("return_"), keep.weights[-1])
        elif value is not None:
            if how == "struct":
                checked(value, _inner(options.__class__)[name], name)
            _set(struct, name, how, value, keep, graph)
    return struct


def _named(value: str, what: str) -> Any:
    from ._options import NAMED  # imported here, since it imports this module

    if value not in NAMED:
        raise ValueError(f"{what} is {value!r}, must be one of {', '.join(map(repr, NAMED))}, or names of your own")
    return NAMED[value]


def _set(struct: Any, name: str, how: Any, value: Any, keep: Keep, graph: Any) -> None:
    if isinstance(how, dict):
        value = word(how, value, name)
    elif how == "bool":
        value = truth(value, name)
    elif how == "int":
        value = whole(value, name)
    elif how == "float":
        value = real(value, name)
    elif how == "text":
        value = ffi.new("char[]", encoded(value, name))
        keep.append(value)
    elif how == "size":
        value = whole(value, name) if graph is None else graph._size_id(value, name)
    elif how == "tensor":
        value = graph._id_of(value, name)
    elif how == "mask":
        value, meaning = graph._mask(value, name)
        setattr(struct, name + "_meaning", meaning)
    elif how == "struct":
        value = pack(value, keep, graph, name)[0]
    elif how == "pointer":
        value = pack(_named(value, name) if isinstance(value, str) else value, keep, graph, name)
    try:
        setattr(struct, name, value)
    except OverflowError:
        raise ValueError(f"{name} is {value}, more than its type holds") from None
    except TypeError:  # a struct of another kind
        raise TypeError(f"{name} is not of the class that it must be of") from None


def unpack(kind: Any, struct: Any) -> Any:
    """The dataclass of _options for a C struct of numbers, words and texts."""
    found = {}
    for name, how in kind._kinds.items():
        value = getattr(struct, name)
        if isinstance(how, dict):
            found[name] = word_of(how, value)
        elif how == "struct":
            nested = {f.name: f for f in dataclasses.fields(kind)}[name].default_factory
            found[name] = unpack(nested, value)  # type: ignore[arg-type]
        elif how == "text":
            found[name] = None if value == ffi.NULL else text(value)
        elif how not in ("size", "tensor") or value:
            found[name] = bool(value) if how == "bool" else value
    return kind(**found)


# --- Messages ------------------------------------------------------------------------------------------------------------

logger = logging.getLogger("heed")


def raise_later(kind: Any, value: Any, traceback: Any) -> None:
    """Exceptions of a callback cannot pass through C. An interrupt is raised once Python code runs again."""
    if issubclass(kind, KeyboardInterrupt):
        _thread.interrupt_main()
    else:
        sys.excepthook(kind, value, traceback)


@ffi.callback("void(void *, int32_t, const char *)", onerror=raise_later)
def _to_logger(_user: Any, level: int, message: Any) -> None:
    logger.log({0: logging.DEBUG, 1: logging.INFO, 2: logging.WARNING}.get(level, logging.DEBUG), "%s", text(message))


def log(keep: Keep) -> Any:
    """A heed_log that forwards warnings, and lower levels that the logger "heed" enables, to Python's logging. Errors become exceptions,
    and are only logged for debugging."""
    least = logger.getEffectiveLevel()
    minimum = 0 if least <= logging.DEBUG else 1 if least <= logging.INFO else 2
    struct = ffi.new("heed_log *", {"callback": _to_logger, "minimum": minimum})
    keep.append(struct)
    return struct


def version() -> str:
    """The library's version, "0.1.0"."""
    n = lib.heed_version()
    return f"{n // 1000000}.{n // 1000 % 1000}.{n % 1000}"
