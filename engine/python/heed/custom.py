"""A host's own passes: conversion of Graph.custom's arguments, and Python functions that C calls."""

from __future__ import annotations

import struct
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from . import _c
from ._arrays import numpy_dtype
from ._c import Keep, encoded, ffi, lib
from ._words import DTYPE

__all__ = ["CpuFunction", "Gradient"]

# cpu(inputs, outputs, push)
CpuFunction = Callable[[List[np.ndarray], List[np.ndarray], List[int]], None]
# gradient(inputs, outputs, upstream, wanted) with tensors; returns the gradient of each input
Gradient = Callable[[List[Any], List[Any], List[Any], List[bool]], Sequence[Any]]


class HostFunction:
    """Adapts a Python function for C. Exceptions are stored, and raised by the run."""

    def __init__(self, function: CpuFunction) -> None:
        if not callable(function):
            raise TypeError(f"cpu must be a function, not {type(function).__name__}")
        self._function = function
        self._raised: Dict[int, BaseException] = {}  # by thread
        self.pointer = ffi.callback("void(void *, const heed_custom_call *)", self._call)

    def _call(self, _user: Any, call: Any) -> None:
        try:
            inputs = [_array(call.inputs[i], False) for i in range(call.input_count)]
            outputs = [_array(call.outputs[i], True) for i in range(call.output_count)]
            self._function(inputs, outputs, list(call.push[0:call.push_count]))
        except BaseException as error:  # interrupts, too, since no exception may pass through C
            self._raised[threading.get_ident()] = error

    def take_raised(self, threads: Optional[List[int]]) -> List[BaseException]:
        """The exceptions of these threads; None: of heed's own threads, on which no run waits."""
        if threads is None:
            threads = [t for t in self._raised if t not in _waiting]
        return [self._raised.pop(t) for t in threads if t in self._raised]


_waiting: List[int] = []  # threads that are in Plan.run


def call_run(functions: Sequence[HostFunction], run: Callable[[], int]) -> int:
    """The status of a run that this thread waits for; raises the first exception of a function in it."""
    thread = threading.get_ident()
    _waiting.append(thread)
    try:
        status = run()
        raised = _first_raised(functions, [thread])
        if raised is not None:
            raise raised
        return status
    finally:
        _waiting.remove(thread)


def raised_elsewhere(functions: Sequence[HostFunction]) -> Optional[BaseException]:
    """The first exception of functions in a started run that is over."""
    return _first_raised(functions, None)


def _first_raised(functions: Sequence[HostFunction], threads: Optional[List[int]]) -> Optional[BaseException]:
    """Removes all of them, so that none remains for a later run."""
    found = [error for function in functions for error in function.take_raised(threads)]
    return found[0] if found else None


class _Differentiated(threading.local):
    """The graph for which this thread computes gradients, and the exception of a gradient function."""

    graph: Any = None
    raised: Optional[BaseException] = None


_differentiated = _Differentiated()


class GradientFunction:
    """Adapts a Python function that adds the gradients of a pass to its graph."""

    def __init__(self, function: Gradient) -> None:
        if not callable(function):
            raise TypeError(f"gradient must be a function, not {type(function).__name__}")
        self._function = function
        self.pointer = ffi.callback("void(void *, heed_graph *, const heed_custom_gradient_call *)", self._call)

    def _call(self, _user: Any, _graph: Any, call: Any) -> None:
        g = _differentiated.graph
        try:
            inputs, outputs, upstream = ([g._tensor_if(t) for t in ids[0:count]] for ids, count in (
                (call.inputs, call.input_count), (call.outputs, call.output_count), (call.upstream, call.output_count)))
            found = list(self._function(inputs, outputs, upstream, [bool(w) for w in call.wanted[0:call.input_count]]))
            if len(found) != call.input_count:
                raise ValueError(f"gradient gave {len(found)} tensors, the pass has {call.input_count} inputs")
            for i, tensor in enumerate(found):
                call.gradients[i] = g._tensor_id(tensor, "a gradient")
        except BaseException as error:
            _differentiated.raised = _differentiated.raised or error
            lib.heed_graph_fail(g._c, _c.Status.INVALID_ARGUMENT, str(error).replace("\0", "?").encode("utf-8", "replace"))


def call_gradients(graph: Any, call: Callable[[], int]) -> int:
    """The status of heed_train_gradients; raises the exception of a gradient function."""
    outer, _differentiated.graph = _differentiated.graph, graph
    try:
        status = call()
    finally:
        _differentiated.graph, raised, _differentiated.raised = outer, _differentiated.raised, None
    if raised is not None:
        lib.heed_graph_roll_back(graph._c)
        raise raised
    return status


def _array(c: Any, is_output: bool) -> np.ndarray:
    """An operand as an array, without a copy."""
    array = np.frombuffer(ffi.buffer(c.data, c.bytes), numpy_dtype(_c.DTYPE_NAMES[c.dtype]))
    array.flags.writeable = is_output
    return array.reshape(tuple(c.shape[0:c.rank]))


def pack_pass(graph: Any, name: str, outputs: Sequence[Tuple[Any, str]], spirv: Any, entry_point: str, constants: Sequence[int],
              push: Sequence[Any], groups: Sequence[Any], cpu: Optional[HostFunction], gradient: Optional[GradientFunction],
              group_work: float, keep: Keep) -> Any:
    """The heed_custom_pass of these arguments."""
    outputs, groups = _pairs(outputs, "outputs"), _pairs(groups, "groups")
    constants, push = _c.listed(constants, "constants"), _c.listed(push, "push")
    if len(groups) > 3:
        raise ValueError(f"groups along {len(groups)} axes, there are 3")
    c = ffi.new("heed_custom_pass *", dict(size=ffi.sizeof("heed_custom_pass"), group_work=_c.real(group_work, "group_work")))

    def kept(ctype: str, values: Any) -> Any:
        keep.append(ffi.new(ctype, values))
        return keep[-1]

    c.name, c.entry_point = kept("char[]", encoded(name, "name")), kept("char[]", encoded(entry_point, "entry_point"))
    if spirv is not None:
        c.spirv, c.spirv_words = _words(spirv, keep)
    c.constants, c.constant_count = kept("uint32_t[]", [_bits(graph, word)[1] for word in constants]), len(constants)
    c.push, c.push_count = kept("heed_custom_word[]", [_bits(graph, word) for word in push]), len(push)
    shapes = [(kept("heed_dim[]", list(graph._dims(shape))), dtype) for shape, dtype in outputs]
    c.outputs = kept("heed_custom_output[]", [(shape, len(shape), _c.word(DTYPE, dtype, "dtype"), 0) for shape, dtype in shapes])
    c.output_count = len(shapes)
    if groups:
        axes = [(graph._dims(sizes), each) for sizes, each in groups]
        keep.append(axes)
        c.groups = kept("heed_custom_groups[3]", [(sizes, len(sizes), each, 0) for sizes, each in axes])
    if cpu is not None:
        c.cpu = cpu.pointer
    if gradient is not None:
        c.gradient = gradient.pointer
    return c


def _pairs(values: Any, what: str) -> List[Any]:
    pairs = _c.listed(values, what)
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise TypeError(f"{what} must be a list of pairs")
    return pairs


def _words(spirv: Any, keep: Keep) -> Tuple[Any, int]:
    try:
        data = np.frombuffer(spirv, np.uint8).tobytes()
    except TypeError:
        raise TypeError(f"spirv must be bytes, not {type(spirv).__name__}") from None
    if len(data) % 4 != 0:
        raise ValueError(f"spirv has {len(data)} bytes, which are no whole words")
    keep.append(ffi.from_buffer("uint32_t[]", data))
    return keep[-1], len(data) // 4


def _bits(graph: Any, word: Any) -> Tuple[int, int, int]:
    """A word as heed_custom_word: a size or position of the graph, or the bits of a number."""
    if hasattr(word, "_id"):
        return graph._size_id(word, "a word of push"), 0, 1
    if isinstance(word, (float, np.floating)):
        return 0, struct.unpack("=I", struct.pack("=f", word))[0], 0
    if not -(1 << 31) <= int(word) < 1 << 32:
        raise ValueError(f"{word} does not fit into 32 bits")
    return 0, int(word) & 0xffffffff, 0
