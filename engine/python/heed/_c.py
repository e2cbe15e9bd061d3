"""The C interface (include/heed/c): its library, statuses as exceptions, handles, options as structs."""

from __future__ import annotations

import dataclasses
import enum
import logging
import operator
import os
import pathlib
import sys
import _thread
from typing import Any, Callable, Dict, List, Optional

import numpy as np

from ._ffi import ffi


def _load() -> Any:
    name = {"win32": "heed.dll", "darwin": "libheed.dylib"}.get(sys.platform, "libheed.so")
    return ffi.dlopen(str(pathlib.Path(__file__).parent / name))


lib = _load()

# --- Statuses ------------------------------------------------------------------------------------------------------------


class Status(enum.IntEnum):
    """What went wrong. include/heed/status.hpp describes each."""

    OK = 0
    INVALID_ARGUMENT = 1
    INVALID_GRAPH = 2
    SHAPE_MISMATCH = 3
    DTYPE_MISMATCH = 4
    MISSING_WEIGHT = 5
    MISSING_BUFFER = 6
    EXTENT_OUT_OF_RANGE = 7
    BUFFER_TOO_SMALL = 8
    INDEX_OUT_OF_RANGE = 9
    NOT_FOUND = 10
    UNSUPPORTED = 11
    OUT_OF_MEMORY = 12
    OUT_OF_DEVICE_MEMORY = 13
    DEVICE_LOST = 14
    INVALID_FILE = 15
    DRIVER_ERROR = 16
    NOT_READY = 17
    FILE_ERROR = 18


class Error(Exception):
    """A call failed. `status` says how, and the text which operation, tensor and values were concerned."""

    def __init__(self, status: int, message: str) -> None:
        try:
            self.status: int = Status(status)
        except ValueError:  # of a later version
            self.status = status
        self.message = message
        super().__init__(f"{text(lib.heed_status_text(status))}: {message}" if message else text(lib.heed_status_text(status)))

    def __reduce__(self) -> Any:
        return Error, (int(self.status), self.message)


def text(pointer: Any) -> str:
    return "" if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


def last_error(status: int) -> Error:
    return Error(status, text(lib.heed_last_message()))


def check(status: int) -> None:
    if status != 0:
        raise last_error(status)


def encoded(value: str, what: str = "text") -> bytes:
    """UTF-8 for a `const char*`, which ends at its first zero."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be str, not {type(value).__name__}")
    data = value.encode("utf-8")
    if b"\0" in data:
        raise ValueError(f"{what} holds a zero character: {value!r}")
    return data


# --- Handles -------------------------------------------------------------------------------------------------------------

# Threads, locks and devices of the library do not survive a fork, so that the child must neither use nor destroy what its
# parent made.
_generation = 0


def _after_fork() -> None:
    global _generation
    _generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Typed:
    """Base of what stands for a handle of the C interface, `_c`."""

    @classmethod
    def _c_of(cls, value: Any, what: str) -> Any:
        """The handle of an argument, which must be of this class."""
        if not isinstance(value, cls):
            raise TypeError(f"{what} must be {cls.__name__}, not {type(value).__name__}")
        return value._c


class Handle(Typed):
    """Owns one handle of the C interface, and destroys it when Python lets go of it."""

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

DTYPES: Dict[str, int] = {"f32": 1, "f16": 2, "bf16": 3, "i32": 4, "u8": 5, "q8_0": 6, "q4_0": 7, "q4_1": 8, "q5_0": 9, "q5_1": 10,
                          "q4_k": 11, "q5_k": 12, "q6_k": 13}
DTYPE_NAMES: Dict[int, str] = {value: name for name, value in DTYPES.items()}

# The words for members that are numbers in C.
_WORDS: Dict[str, Dict[Any, int]] = {
    "causal": {None: 0, "none": 0, "top_left": 1, "bottom_right": 2},
    "activation": {"none": 1, "relu": 2, "gelu_erf": 3, "gelu_tanh": 4, "silu": 5, "tanh": 6},
    "placement": {"post": 0, "pre": 1},
    "kind": {"layer": 0, "rms": 1},
    "pairs": {"halves": 0, "adjacent": 1},
    "rotary_pairs": {"halves": 0, "adjacent": 1},
    "scaling": {None: 0, "none": 0, "linear": 1, "llama3": 2},
    "pipelines": {"now": 0, "deferred": 1, "background": 2},
    "overflow": {"drop_oldest": 0, "stop": 1},
    "rule": {"adamw": 0, "sgd": 1},
}
for _name in ("dtype", "weight_dtype", "out_weight_dtype", "cache_dtype"):
    _WORDS[_name] = {None: 0, **DTYPES}

# 0 stands for the default of these, and nobody means it.
_NEVER_ZERO = {"scale", "base", "factor", "low", "high", "eps", "head_norm_eps", "temperature", "repetition_penalty", "top_p", "heads",
               "encoder_layers", "decoder_layers", "record_slots", "max_batch", "read", "together", "previous_count"}


def word(name: str, value: Any) -> int:
    words = _WORDS[name]
    try:
        return words[value]
    except (KeyError, TypeError):
        known = ", ".join(repr(w) for w in words)
        raise ValueError(f"{name} is {value!r}, must be one of {known}") from None


def whole(value: Any, what: str) -> int:
    """A whole number or a truth. Others are not rounded."""
    try:
        return int(value) if isinstance(value, np.bool_) else operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}, must be a whole number") from None


def word_of(name: str, number: int) -> Any:
    """The first word for a number."""
    return next(key for key, value in _WORDS[name].items() if value == number)


class Keep(List[Any]):
    """What C reads and writes through pointers, kept until the call is over."""

    def __init__(self) -> None:
        super().__init__()
        self.weights: List[Any] = []  # for each multi-head attention, where its weights go, or None


def pack(ctype: str, options: Any, keep: Keep, graph: Any = None) -> Any:
    """A struct of C with the members that `options` names: the fields of a dataclass, or a dict. None is C's default.

    A field may be a number, a word, a text, a Tensor or Dim of `graph`, a Mask (two members), a dataclass (a pointer) or, where C
    has `no_NAME`, a bool. What a dataclass has beside these, its method _pack sets."""
    struct = ffi.new(ctype + " *")
    struct.size = ffi.sizeof(ctype)
    keep.append(struct)
    if dataclasses.is_dataclass(options):
        if hasattr(options, "_pack"):
            options._pack(struct, keep)
        options = {f.name: getattr(options, f.name) for f in dataclasses.fields(options)}
    members = dict(ffi.typeof(ctype).fields)
    for name, value in options.items():
        if "no_" + name in members:
            setattr(struct, "no_" + name, int(not value))
        elif name in members and value is not None:
            _set(struct, members, name, value, keep, graph)
    return struct


def masked(value: Any, name: str) -> Any:
    """The tensor of a Mask, and what its elements mean."""
    if not hasattr(value, "_checked"):
        raise TypeError(f"{name} must be made by heed.keep or heed.exclude, not {type(value).__name__}")
    return value._checked(name)


def _set(struct: Any, members: Dict[str, Any], name: str, value: Any, keep: Keep, graph: Any) -> None:
    kind = members[name].type
    if name + "_meaning" in members:
        value, meaning = masked(value, name)
        setattr(struct, name + "_meaning", meaning)
    if "has_" + name in members:
        setattr(struct, "has_" + name, 1)
    if kind.kind in ("pointer", "function"):
        if isinstance(value, str) and kind.item.cname != "char":
            return  # a word, which _pack has set
        if isinstance(value, str):
            value = ffi.new("char[]", encoded(value, name))
            keep.append(value)
        elif dataclasses.is_dataclass(value):
            value = pack(kind.item.cname, value, keep, graph)
    elif name in _NEVER_ZERO and value == 0 and "has_" + name not in members:
        raise ValueError(f"{name} must not be 0")
    elif kind.cname == "heed_tensor" or kind.cname == "heed_dim" or hasattr(value, "_id"):
        value = graph._id_of(value, name)
    elif name in _WORDS:
        value = word(name, value)
    else:
        value = float(value) if kind.cname in ("float", "double") else whole(value, name)
    try:
        setattr(struct, name, value)
    except OverflowError:
        raise ValueError(f"{name} is {value}, which is out of its range") from None


# --- Messages ------------------------------------------------------------------------------------------------------------

logger = logging.getLogger("heed")


def raise_later(kind: Any, value: Any, traceback: Any) -> None:
    """What a callback of C raised cannot go through C. An interrupt is raised when Python is back in its own code."""
    if issubclass(kind, KeyboardInterrupt):
        _thread.interrupt_main()
    else:
        sys.excepthook(kind, value, traceback)


@ffi.callback("void(void *, int32_t, const char *)", onerror=raise_later)
def _to_logger(_user: Any, level: int, message: Any) -> None:
    logger.log({0: logging.DEBUG, 1: logging.INFO, 2: logging.WARNING}.get(level, logging.DEBUG), "%s", text(message))


def log(keep: Keep) -> Any:
    """heed_log that brings warnings, and what the logger "heed" asks for below that, to Python's logging. Errors are exceptions, and
    only told again for debugging."""
    least = logger.getEffectiveLevel()
    minimum = 0 if least <= logging.DEBUG else 1 if least <= logging.INFO else 2
    struct = ffi.new("heed_log *", {"callback": _to_logger, "minimum": minimum})
    keep.append(struct)
    return struct


def version() -> str:
    """The library's version, "0.1.0"."""
    n = lib.heed_version()
    return f"{n // 1000000}.{n // 1000 % 1000}.{n % 1000}"
