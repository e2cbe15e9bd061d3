"""Plans: graphs compiled for one device, and their runs."""

from __future__ import annotations

import weakref
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from . import _c, _words
from ._arrays import as_input, as_output, check_shape, memory, numpy_dtype
from ._c import Error, Keep, Status, encoded, ffi, lib, text
from .custom import HostFunction, call_run, raised_elsewhere
from .graph import Graph
from .state import State
from .tensor import Dim, Port

__all__ = ["PassInfo", "Plan", "Run"]


class PassInfo(NamedTuple):
    """One pass of a plan, with the kernel that was chosen for it, and why. Numbers are for the extents' maxima.

    - label: the label in the graph, as in "encoder.0.attention".
    - op: the operation.
    - kernel: the name of the kernel.
    - why: the reason for the kernel and its precision.
    - dtype: type of the result.
    - dispatches: number of dispatches.
    - flops: floating-point operations.
    - bytes: bytes that the pass reads and writes.
    - fewest_bytes: the part of `bytes` that would remain if all passes were fused."""

    label: str
    op: str
    kernel: str
    why: str
    dtype: str
    dispatches: int
    flops: float
    bytes: float
    fewest_bytes: float


class Run:
    """A run that goes on while Python does something else. It keeps its arrays alive until it is over, even if this object is dropped.
    Until then inputs must not change, and outputs must not be read or written."""

    def __init__(self, plan: Any, info: Any, results: Dict[str, np.ndarray], functions: List[HostFunction], keep: Keep) -> None:
        self._out, self._results, self._born = ffi.new("heed_run **"), results, _c._generation
        self._functions = functions
        self._raised: Optional[BaseException] = None
        # When Python drops the run or exits, it waits for the run's end, and keeps the arrays until then. Registered before the run begins,
        # so that an interrupt right after its start finds it.
        self._finish = weakref.finalize(self, _finish, self._out, results, keep, self._born)
        _c.check(lib.heed_plan_start(plan, info, self._out))

    def _check(self) -> None:
        if self._born != _c._generation:
            raise Error(Status.INVALID_ARGUMENT, "this run was started before the process forked, and goes on in the parent process")

    def done(self) -> bool:
        """Whether the run is over. Does not wait."""
        self._check()
        return bool(_c.number(lib.heed_run_done, self._out[0]))

    def wait(self) -> Dict[str, np.ndarray]:
        """Waits until the run is over, and returns what Plan.run would have returned. May be called again."""
        self._check()
        status = lib.heed_run_wait(self._out[0])
        self._raised = self._raised or raised_elsewhere(self._functions)
        if self._raised is not None:
            raise self._raised
        _c.check(status)
        return dict(self._results)


def _finish(out: Any, results: Any, keep: Any, born: int) -> None:
    if born == _c._generation:
        lib.heed_run_destroy(out[0])


class Plan(_c.Handle):
    """A graph compiled for one device, by Device.compile. It has one run at a time."""

    _kind = "plan"

    def __init__(self, pointer: Any, graph: Graph) -> None:
        self._own(pointer)
        self._graph = graph._copy()
        self._extents = {dim: ffi.new("char[]", encoded(name)) for dim, name in graph._names.items()}
        self._ports = {name: ffi.new("char[]", encoded(name)) for name in (*graph._inputs, *graph._outputs)}

    @property
    def inputs(self) -> Dict[str, Port]:
        """Shape and type of each input."""
        return dict(self._graph._inputs)

    @property
    def outputs(self) -> Dict[str, Port]:
        """Shape and type of each output."""
        return dict(self._graph._outputs)

    def run(self, inputs: Mapping[str, Any], outputs: Optional[Mapping[str, Any]] = None, *,
            extents: Optional[Mapping[str, int]] = None, state: Optional[State] = None, seed: int = 0,
            timeout_ms: int = 0) -> Dict[str, np.ndarray]:
        """Runs, waits, and returns the outputs by name.

        Inputs are arrays of exactly the graph's type (bool serves as u8, and uint16 holds the bits of bf16); those that are not
        contiguous are copied. Extents follow from the inputs' shapes; other extents and positions are given in `extents` (positions
        default to 0). Outputs are new arrays, or those in `outputs`, which are then written in place. `state` is for graphs with states,
        `seed` the key of sample and of dropout.

        Other Python threads run meanwhile. An interrupt is raised when the run is over, so that nothing is left half-written."""
        info, results, keep = self._prepare(inputs, outputs, extents, state, seed, timeout_ms)
        _c.check(call_run(self._graph._functions, lambda: lib.heed_plan_run(self._c, info)))
        return results

    def start(self, inputs: Mapping[str, Any], outputs: Optional[Mapping[str, Any]] = None, *,
              extents: Optional[Mapping[str, int]] = None, state: Optional[State] = None, seed: int = 0,
              timeout_ms: int = 0) -> Run:
        """Begins a run and returns at once."""
        info, results, keep = self._prepare(inputs, outputs, extents, state, seed, timeout_ms)
        return Run(self._c, info, results, self._graph._functions, keep)

    def make_state(self) -> State:
        """A State for the graph's states, all zero."""
        return State(_c.make(lib.heed_plan_make_state, self._c), self._graph._states)

    @property
    def scratch_bytes(self) -> int:
        """Bytes that one run needs at the extents' maxima."""
        return _c.number(lib.heed_plan_scratch_bytes, self._c)

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights that the plan reads, in the forms in which it reads them."""
        return _c.number(lib.heed_plan_weight_bytes, self._c)

    @property
    def state_bytes(self) -> int:
        """Bytes of one State."""
        return _c.number(lib.heed_plan_state_bytes, self._c)

    def passes(self) -> List[PassInfo]:
        """The passes in order, each with its kernel and the reason for it."""
        found = []
        for i in range(lib.heed_plan_pass_count(self._c)):
            p = _c.filled("heed_pass_info", lib.heed_plan_pass, self._c, i)
            found.append(PassInfo(text(p.label), text(p.op), text(p.kernel), text(p.why), _c.DTYPE_NAMES.get(p.dtype, "?"),
                                  p.dispatches, p.flops, p.bytes, p.fewest_bytes))
        return found

    def timings(self) -> List[float]:
        """Milliseconds of each pass in the last run, for plans compiled with timestamps."""
        count = lib.heed_plan_pass_count(self._c)
        times, written = ffi.new("double[]", count), ffi.new("size_t *")
        _c.check(lib.heed_plan_timings(self._c, 0, times, count, written))
        return list(times[0:written[0]])

    # --- Arrays of a run ------------------------------------------------------------------------------------------------

    def _prepare(self, inputs: Mapping[str, Any], outputs: Optional[Mapping[str, Any]], extents: Optional[Mapping[str, int]],
                 state: Optional[State], seed: int, timeout_ms: int) -> Tuple[Any, Dict[str, np.ndarray], Keep]:
        """A heed_run_info with checked arrays, the outputs by name, and the memory that must be kept until the run is over."""
        keep = Keep()
        g = self._graph
        given = {name: as_input(value, g._inputs[name].dtype, f"input '{name}'")
                 for name, value in _all_of(g._inputs, inputs, "input").items()}
        values = self._extent_values(given, _c.mapped(extents, "extents"))
        c_extents = ffi.new("heed_extent_value[]", list(values.items()))
        results = {}
        wanted = _c.mapped(outputs, "outputs")
        for name in wanted:
            if name not in g._outputs:
                raise Error(Status.NOT_FOUND, f"the plan has no output '{name}'")
        for name, array in given.items():
            shape = [g._value_of(size, c_extents, len(values)) for size in g._inputs[name].shape]
            check_shape(array, shape, f"input '{name}'")
        for name, port in g._outputs.items():
            shape = [g._value_of(size, c_extents, len(values)) for size in port.shape]
            results[name] = (as_output(wanted[name], port.dtype, shape, f"output '{name}'") if name in wanted
                             else np.empty(shape, numpy_dtype(port.dtype)))
        c_inputs = ffi.new("heed_input[]", [self._buffer(n, a, g._inputs[n].dtype, False, keep) for n, a in given.items()])
        c_outputs = ffi.new("heed_output[]", [self._buffer(n, a, g._outputs[n].dtype, True, keep) for n, a in results.items()])
        info = ffi.new("heed_run_info *", dict(
            size=ffi.sizeof("heed_run_info"), inputs=c_inputs, input_count=len(c_inputs), outputs=c_outputs,
            output_count=len(c_outputs), extents=c_extents, extent_count=len(values),
            state=ffi.NULL if state is None else State._c_of(state, "state"), seed=_c.whole(seed, "seed"),
            timeout_ms=_c.whole(timeout_ms, "timeout_ms")))
        keep.extend((given, c_inputs, c_outputs, c_extents, g._functions))
        return info, results, keep

    def _buffer(self, name: str, array: np.ndarray, dtype: str, writable: bool, keep: Keep) -> Tuple[Any, ...]:
        data = memory(array, writable)
        keep.append(data)
        return self._ports[name], data, array.nbytes, _words.DTYPE[dtype], 0

    def _extent_values(self, given: Dict[str, np.ndarray], extents: Dict[str, int]) -> Dict[Any, int]:
        """The value of each extent and position, by its C name. Shapes determine extents; an explicit value must match."""
        g = self._graph
        known = set(g._names.values())
        for name in extents:
            if name not in known:
                raise Error(Status.NOT_FOUND, f"the plan has no extent or position '{name}'")
        for name, array in given.items():
            port = g._inputs[name]
            if array.ndim != len(port.shape):
                raise Error(Status.SHAPE_MISMATCH, f"input '{name}' has the shape {list(array.shape)}, must have {list(port.shape)}")
            for size, dim in zip(array.shape, port.shape):
                if isinstance(dim, Dim) and dim._id in g._names:
                    value = extents.setdefault(g._names[dim._id], size)
                    if value != size:
                        raise Error(Status.SHAPE_MISMATCH, f"input '{name}' has the shape {list(array.shape)}, must have "
                                                           f"{list(port.shape)} where {dim} is {value}")
        return {self._extents[dim]: _c.whole(extents[name], name) for dim, name in g._names.items() if name in extents}


def _all_of(ports: Dict[str, Port], arrays: Mapping[str, Any], what: str) -> Dict[str, Any]:
    if not isinstance(arrays, Mapping):
        raise TypeError(f"{what}s must be a dict of arrays, not {type(arrays).__name__}")
    for name in arrays:
        if name not in ports:
            raise Error(Status.NOT_FOUND, f"the plan has no {what} '{name}'")
    for name in ports:
        if name not in arrays:
            raise Error(Status.MISSING_BUFFER, f"{what} '{name}' is not given")
    return dict(arrays)
