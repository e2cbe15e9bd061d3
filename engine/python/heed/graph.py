"""Graph: operations on tensors, built with plain calls and compiled for a device.

    g = heed.Graph()
    x = g.input("x", [1, g.extent("tokens", 512), 768])
    g.output("y", g.linear(x, g.weight("fc.weight", [3072, 768]), g.weight("fc.bias", [3072])))

Shapes are [outer, ..., inner], at most five sizes. "Broadcast" means numpy's rule. Negative axes count from the end. A call that
fails raises an Error and leaves the graph as it was.
"""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _c, _words
from ._arrays import as_array, dtype_of, memory, of_list
from ._c import Error, Keep, encoded, ffi, int32, lib, whole, word
from ._operations import Operations
from .custom import CpuFunction, Gradient, GradientFunction, HostFunction, pack_pass
from .tensor import Dim, Port, Size, Tensor

__all__ = ["Graph"]


class Graph(Operations):
    """Operations on tensors. A graph holds no device and no memory except its constants."""

    def __init__(self) -> None:
        self._begin(_c.make(lib.heed_graph_create))

    def _begin(self, pointer: Any) -> None:
        self._own(pointer)
        self._names: Dict[int, str] = {}  # names of extents and positions, by their numbers in C
        self._inputs: Dict[str, Port] = {}
        self._outputs: Dict[str, Port] = {}
        self._states: Dict[str, Port] = {}
        self._functions: List[HostFunction] = []  # functions of custom passes, which C calls
        self._gradients: List[GradientFunction] = []

    @classmethod
    def _made_in_c(cls, pointer: Any) -> "Graph":
        """A graph that C has filled."""
        g = cls.__new__(cls)
        g._begin(pointer)
        g._read()
        return g

    def _read(self) -> None:
        """Reads the names that C has added."""
        name, tensor, dim = ffi.new("char **"), ffi.new("heed_tensor *"), ffi.new("heed_dim *")
        for i in range(lib.heed_graph_extent_count(self._c)):
            _c.check(lib.heed_graph_get_extent(self._c, i, name, dim))
            self._names[dim[0]] = _c.text(name[0])
        for kind, ports in ((lib.HEED_GRAPH_INPUTS, self._inputs), (lib.HEED_GRAPH_OUTPUTS, self._outputs),
                            (lib.HEED_GRAPH_STATES, self._states)):
            for i in range(lib.heed_graph_named_count(self._c, kind)):
                _c.check(lib.heed_graph_get_named(self._c, kind, i, name, tensor))
                ports[_c.text(name[0])] = self._port(self._new(tensor[0]))

    def _copy(self) -> "Graph":
        """Another graph with the same contents."""
        other = Graph.__new__(Graph)
        other._own(_c.make(lib.heed_graph_clone, self._c))
        other._names, other._inputs = dict(self._names), dict(self._inputs)
        other._outputs, other._states = dict(self._outputs), dict(self._states)
        other._functions, other._gradients = list(self._functions), list(self._gradients)
        return other

    # --- Inputs and outputs ---------------------------------------------------------------------------------------------

    def extent(self, name: str, most: int) -> Dim:
        """A named size from 1 to `most` that may differ at each run. Runs derive it from the shapes of inputs."""
        return self._dim(lib.heed_graph_extent(self._c, encoded(name, "name"), whole(most, "most")), name)

    def position(self, name: str, most: int) -> Dim:
        """A named number from 0 to `most` that each run gives, 0 by default: where a slice begins, or how many rows a cache holds."""
        return self._dim(lib.heed_graph_position(self._c, encoded(name, "name"), whole(most, "most")), name)

    def input(self, name: str, shape: Sequence[Size], dtype: str = "f32") -> Tensor:
        """A tensor of this shape and dtype that the host gives at each run, by this name."""
        x = self._source(lib.heed_graph_input, name, shape, dtype)
        self._inputs[name] = self._port(x)
        return x

    def weight(self, name: str, shape: Sequence[int], dtype: str = "f32") -> Tensor:
        """A tensor of this shape and dtype in the Weights for compile, by its name there. The same name returns the same tensor."""
        return self._source(lib.heed_graph_weight, name, shape, dtype)

    def weights(self) -> Dict[str, Port]:
        """The shape and type of each weight that the graph declares, by name, in the order of their first declaration."""
        found = [_c.filled("heed_weight_info", lib.heed_graph_get_weight, self._c, i) for i in range(lib.heed_graph_weight_count(self._c))]
        return {_c.text(w.name): Port(tuple(w.shape[0:w.rank]), _c.DTYPE_NAMES[w.dtype]) for w in found}

    def split(self, x: Tensor, parts: Union[int, Sequence[int]], axis: int = 0) -> List[Tensor]:
        """Consecutive slices of x along an axis of constant size, as views: `parts` slices of equal size, or slices of the sizes in
        `parts`, which must cover the axis."""
        self._id_of(x, "x")
        rank, at = len(x.shape), int32(axis, "axis")
        if not -rank <= at < rank:
            raise ValueError(f"axis is {axis}, must be one of a tensor of rank {rank}")
        size = x.shape[at]
        if not isinstance(size, int):
            raise ValueError(f"axis {axis} has a size that runs give; Graph.slice takes a part of it")
        if isinstance(parts, int):
            if parts < 1 or size % parts != 0:
                raise ValueError(f"parts is {parts}; an axis of {size} has no so many equal parts")
            parts = [size // parts] * parts
        sizes = [whole(part, f"parts[{i}]") for i, part in enumerate(_c.listed(parts, "parts"))]
        if sum(sizes) != size or min(sizes) < 1:
            raise ValueError(f"parts is {parts}; sizes must be at least 1, and {size} together")
        begins = [sum(sizes[:i]) for i in range(len(sizes))]
        return [self.slice(x, at, begin, part) for begin, part in zip(begins, sizes)]

    def find_weight(self, name: str) -> Optional[Tensor]:
        """The weight of this name if the graph already has it."""
        return self._tensor_if(lib.heed_graph_find_weight(self._c, encoded(name, "name")))

    def _source(self, function: Any, name: str, shape: Sequence[Size], dtype: str) -> Tensor:
        return self._new(function(self._c, encoded(name, "name"), *self._shape(shape), word(_words.DTYPE, dtype, "dtype")))

    def constant(self, name: str, values: Any) -> Tensor:
        """A tensor with the shape and type of these values, f32, i32 or u8, which the graph copies under this name. Lists and numbers
        become f32, i32 or, for bools, u8. A single number has shape [1]."""
        c_name = encoded(name, "name")
        if isinstance(values, (list, tuple, int, float)):
            array = of_list(values, {"f": "f32", "b": "u8"}.get(np.asarray(values).dtype.kind, "i32"), f"constant '{name}'")
        else:
            array, _ = as_array(values, f"values of constant '{name}'")
        dtype = dtype_of(array)
        if dtype not in ("f32", "i32", "u8"):
            raise Error(_c.Status.DTYPE_MISMATCH, f"constant '{name}' is an array of {array.dtype}, must be float32, int32 or uint8")
        array = np.ascontiguousarray(array)  # a scalar becomes [1]
        return self._new(lib.heed_graph_constant(self._c, c_name, *self._shape(array.shape), _words.DTYPE[dtype],
                                                 memory(array), array.nbytes))

    def output(self, name: str, x: Tensor) -> None:
        """Makes x, of any shape, an output of each run with this name."""
        self._check(lib.heed_graph_output(self._c, encoded(name, "name"), self._id_of(x, "x")))
        self._outputs[name] = self._port(x)

    # --- Tensors that stay from run to run ------------------------------------------------------------------------------

    def state(self, name: str, shape: Sequence[int], dtype: str = "f32") -> Tensor:
        """A tensor of this name, shape and dtype in the State that each run is given, with its value at this point of the graph. Once it is
        written, tensors from before the write may not be used; use the results of append or assign."""
        x = self._source(lib.heed_graph_state, name, shape, dtype)
        self._states[name] = self._port(x)
        return x

    def append(self, state: Tensor, rows: Tensor, axis: int, at: Union[Size, Tensor]) -> Tensor:
        """Writes rows to the elements at, at + 1, ... of an axis of a state, and returns the whole state. `at` may be an i32 tensor: a
        position for each index of axis 0, or for each element along the axis; rows with a negative position are not written."""
        function = lib.heed_graph_append_at if isinstance(at, Tensor) else lib.heed_graph_append
        return self._new(function(self._c, self._id_of(state, "state"), self._id_of(rows, "rows"), int32(axis, "axis"),
                                  self._id_of(at, "at") if isinstance(at, Tensor) else self._size_id(at, "at")))

    # --- Passes of the host's own, and labels ------------------------------------------------------------------------------

    def custom(self, name: str, inputs: Sequence[Tensor], outputs: Sequence[Tuple[Sequence[Size], str]], *, spirv: Any = None,
               entry_point: str = "main", constants: Sequence[int] = (), push: Sequence[Union[int, float, Dim]] = (),
               groups: Sequence[Tuple[Sequence[Size], int]] = (), cpu: Optional[CpuFunction] = None,
               gradient: Optional[Gradient] = None, group_work: float = 0.0) -> Tuple[Tensor, ...]:
        """Adds a pass of the host's own: a compute shader, and a function that the CPU device calls instead. Returns its one or two
        outputs, which are given as (shape, dtype).

            doubled, = g.custom("double", [x], [(x.shape, "f32")], spirv=pathlib.Path("double.spv").read_bytes(), push=[n],
                                groups=[([n], 64)], cpu=lambda inputs, outputs, push: numpy.add(inputs[0], inputs[0], outputs[0]))

        `spirv` are bytes, `constants` the specialization constants 0, 1, ..., `push` the push-constant words after the offsets of the
        bindings: numbers, or sizes and positions of the graph. `groups` gives the number of workgroups along x, y and z: the product of
        sizes, divided by a number and rounded up. include/heed/custom.hpp describes the shader's interface.

        cpu(inputs, outputs, push) gets arrays without copies, which are valid during the call only, and the words of push as numbers. It
        must not call heed. The run raises its exceptions; outputs are then undefined.

        heed.train.gradients calls gradient(inputs, outputs, upstream, wanted). It adds operations to this graph that compute the
        gradient of each input, and returns these tensors, None for zeros. `upstream` are the gradients of the outputs, None for zeros,
        and `wanted` says which inputs need a gradient."""
        keep, function = Keep(), None if cpu is None else HostFunction(cpu)
        differentiate = None if gradient is None else GradientFunction(gradient)
        c = pack_pass(self, name, outputs, spirv, entry_point, constants, push, groups, function, differentiate, group_work, keep)
        ids, count = self._tensor_ids(inputs, "inputs")
        made = ffi.new("heed_tensor[]", c.output_count)
        self._check(lib.heed_graph_custom(self._c, c, ids, count, made))
        if function is not None:
            self._functions.append(function)
        if differentiate is not None:
            self._gradients.append(differentiate)
        return tuple(self._new(t) for t in made)

    @contextlib.contextmanager
    def label(self, name: str) -> Iterator[None]:
        """Labels the passes of operations in a `with` block, as in "encoder.0.attention". Labels nest."""
        self._check(lib.heed_graph_push_label(self._c, encoded(name, "name")))
        try:
            yield
        finally:
            lib.heed_graph_pop_label(self._c)
