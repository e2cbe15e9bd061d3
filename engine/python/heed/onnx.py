"""Networks in ONNX files, as PyTorch and others export them.

    policy = heed.onnx.load("policy.onnx", heed.Device())
    choices = policy(seen)["choices"]              # arrays in the order of the file's inputs, or by name: policy(seen=seen)

    policy = heed.onnx.load("policy.onnx", device, largest={"agents": 256})     # one plan for any number of agents up to 256
    g = policy.build(largest={"agents": 256})                                   # or the graph, to compile as one likes

Dims that have a name in the file, such as "agents", may differ from run to run. Without `largest`, a plan is compiled for each
combination of sizes that occurs, and the most recent ones are kept.

heed has no int64, bool or rank 0: int64 arrays whose values fit int32 are accepted, results are int32 and uint8, and values of rank 0 in
the file are [1].
"""

from __future__ import annotations

import collections
import os
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _c
from ._arrays import as_array, as_input, numpy_dtype
from ._c import Error, Keep, Status, encoded, ffi, lib, text
from ._options import CompileOptions
from .device import Device, Weights
from .graph import Graph
from .plan import Plan
from .state import State
from .tensor import Tensor

__all__ = ["Model", "Port", "load"]

Largest = Union[int, Mapping[str, int]]
Pairs = Iterable[Tuple[str, str]]
_KEPT = 16  # number of plans kept by a model


class Port(NamedTuple):
    """An input or output of a file.

    - dims: outermost first: numbers, or names of sizes that may differ. Those of outputs are as the file states them, which may be
      incomplete.
    - dtype: that of the graph: "f32", "i32" and so on."""

    dims: Tuple[Union[int, str], ...]
    dtype: str


class Model(_c.Handle):
    """An ONNX file. load() makes one.

    - inputs, outputs: their dims and types by name, in the order of the file.
    - operators: how often the file uses each operator.
    - caches: pairs of an input and an output that form a cache, recognized by their names, such as ("past_key_values.0.key",
      "present.0.key")."""

    _kind = "onnx_model"

    def __init__(self, pointer: Any, memory: Any, device: Optional[Device], largest: Optional[Largest], states: Union[bool, Pairs],
                 options: Optional[CompileOptions]) -> None:
        self._own(pointer)
        self._memory = memory  # C reads it as long as the model exists
        self.inputs = self._ports(lib.heed_onnx_model_input_count, lib.heed_onnx_model_input)
        self.outputs = self._ports(lib.heed_onnx_model_output_count, lib.heed_onnx_model_output)
        self.operators = {text(o.name): o.count for o in (
            _c.filled("heed_onnx_operator", lib.heed_onnx_model_operator, self._c, i)
            for i in range(lib.heed_onnx_model_operator_count(self._c)))}
        self.caches = self._read_caches()
        self._device, self._largest, self._options = device, largest, options
        self._states = self._pairs(states)
        self._plans: "collections.OrderedDict[Any, Plan]" = collections.OrderedDict()
        self._weights: Dict[Any, Weights] = {}

    def __call__(self, *arrays: Any, extents: Optional[Mapping[str, int]] = None, state: Optional[State] = None,
                 **named: Any) -> Dict[str, np.ndarray]:
        """Runs the network. Inputs are given in order, or by name; returns the outputs by name. See run()."""
        names = [name for name in self.inputs if name not in {past for past, _ in self._states}]
        if len(arrays) > len(names):
            raise TypeError(f"there are {len(arrays)} arrays, and {len(names)} inputs: {', '.join(names)}")
        twice = [name for name in names[:len(arrays)] if name in named]
        if twice:
            raise TypeError(f"input '{twice[0]}' is given twice")
        return self.run({**dict(zip(names, arrays)), **named}, extents=extents, state=state)

    def run(self, inputs: Mapping[str, Any], *, extents: Optional[Mapping[str, int]] = None,
            state: Optional[State] = None) -> Dict[str, np.ndarray]:
        """Runs the network on arrays by name, and returns the outputs by name. Sizes follow from the arrays.

        For a model with states, `state` comes from make_state(), and `extents` gives the number of rows in its caches, as in {"past":
        7}, unless it follows from an array's shape."""
        arrays = self._arrays(inputs)
        plan = self._plan_of(arrays)
        found = {**self._extents(plan._graph, arrays), **_c.mapped(extents, "extents")}
        return plan.run({name: arrays[name] for name in plan._graph._inputs}, extents=found, state=state)

    def make_state(self) -> State:
        """A State for the model's states, all zero, with empty caches."""
        return self._plan_of({}).make_state()

    def build(self, *, largest: Optional[Largest] = None, states: Union[bool, Pairs] = False) -> Graph:
        """A graph with the file's inputs, outputs and weights under their names.

        `largest` is the maximum of each named dim, or one number for all; 0 means that a dim is empty, like the length of a cache before
        the first token. `states` are as for load()."""
        keep = Keep()
        return Graph._made_in_c(_c.make(lib.heed_onnx_model_build, self._c, self._c_options(largest, states, keep)))

    def add(self, graph: Graph, inputs: Mapping[str, Tensor], *, largest: Optional[Largest] = None,
            states: Union[bool, Pairs] = False) -> Dict[str, Tensor]:
        """Adds the network to a graph, with these tensors for inputs, and returns its outputs by name. Other inputs become inputs of the
        graph, and states become states. The graph then declares the file's weights under their names; upload() uploads them.

            g = heed.Graph()
            seen = g.input("seen", [g.extent("agents", 64), 9])
            g.output("best", g.argmax(policy.add(g, {"seen": seen})["choices"]))"""
        keep = Keep()
        given = [(self._text(name, "the name of an input", keep), graph._id_of(x, f"input '{name}'"))
                 for name, x in _c.mapped(inputs, "inputs").items()]
        c_inputs, made = ffi.new("heed_onnx_input[]", given), ffi.new("heed_tensor[]", len(self.outputs))
        graph._check(lib.heed_onnx_model_add(self._c, Graph._c_of(graph, "graph"), c_inputs, len(given),
                                             self._c_options(largest, states, keep), made, len(made)))
        graph._read()
        return {name: graph._new(x) for name, x in zip(self.outputs, made) if x != 0}

    def _c_options(self, largest: Optional[Largest], states: Union[bool, Pairs], keep: Keep) -> Any:
        options = ffi.new("heed_onnx_options *")
        options.size = ffi.sizeof("heed_onnx_options")
        if isinstance(largest, Mapping):
            named = [(self._text(name, "a name in largest", keep), _c.whole(size, f"largest['{name}']")) for name, size in largest.items()]
            extents = ffi.new("heed_onnx_extent[]", named)
            keep.append(extents)
            options.extents, options.extent_count = extents, len(named)
        elif largest is not None:
            options.largest = _c.whole(largest, "largest")
        pairs = [(self._text(past, "an input in states", keep), self._text(present, "an output in states", keep))
                 for past, present in self._pairs(states)]
        c_states = ffi.new("heed_onnx_state[]", pairs)
        keep.append(c_states)
        options.states, options.state_count = c_states, len(pairs)
        return options

    def upload(self, device: Device, graph: Graph) -> Weights:
        """Uploads the weights that a graph of build() declares."""
        return Weights(_c.make(lib.heed_onnx_model_upload, self._c, Device._c_of(device, "device"), Graph._c_of(graph, "graph")))

    # --- The file's contents ------------------------------------------------------------------------------------------------

    @staticmethod
    def _text(value: str, what: str, keep: Keep) -> Any:
        keep.append(ffi.new("char[]", encoded(value, what)))
        return keep[-1]

    def _ports(self, count: Any, read: Any) -> Dict[str, Port]:
        ports = {}
        for i in range(count(self._c)):
            tensor = _c.filled("heed_onnx_tensor", read, self._c, i)
            dims = tuple(text(tensor.symbols[d]) or tensor.dims[d] for d in range(tensor.rank))
            ports[text(tensor.name)] = Port(dims, _c.DTYPE_NAMES[tensor.dtype])
        return ports

    def _read_caches(self) -> List[Tuple[str, str]]:
        found, count = ffi.new("heed_onnx_state[]", len(self.inputs)), ffi.new("size_t *")
        _c.check(lib.heed_onnx_model_states(self._c, found, len(found), count))
        return [(text(found[i].past), text(found[i].present)) for i in range(count[0])]

    def _pairs(self, states: Union[bool, Pairs]) -> List[Tuple[str, str]]:
        if isinstance(states, bool):
            if states and not self.caches:
                raise Error(Status.NOT_FOUND, "the file has no caches by the usual names; give pairs of an input and an output")
            return self.caches if states else []
        return [(past, present) for past, present in _c.listed(states, "states")]

    # --- Runs ---------------------------------------------------------------------------------------------------------------

    def _arrays(self, inputs: Mapping[str, Any]) -> Dict[str, np.ndarray]:
        given = _c.mapped(inputs, "inputs")
        kept = {past for past, _ in self._states}
        wanted = [name for name in self.inputs if name not in kept]
        for name in given:
            if name not in wanted:
                raise Error(Status.NOT_FOUND, f"there is no input '{name}'; the file has {', '.join(wanted)}")
        arrays = {}
        for name in wanted:
            if name not in given:
                raise Error(Status.MISSING_BUFFER, f"input '{name}' is not given")
            port = self.inputs[name]
            array = as_input(_narrowed(given[name], port.dtype, f"input '{name}'"), port.dtype, f"input '{name}'")
            if array.ndim != max(len(port.dims), 1):
                raise Error(Status.SHAPE_MISMATCH, f"input '{name}' has the shape {list(array.shape)}, must have {list(port.dims)}")
            arrays[name] = array
        return arrays

    def _sizes(self, arrays: Mapping[str, np.ndarray]) -> Dict[str, int]:
        """The size of each named dim, or the largest of several."""
        sizes: Dict[str, int] = {}
        for name, array in arrays.items():
            for dim, size in zip(self.inputs[name].dims, array.shape):
                if isinstance(dim, str):
                    sizes[dim] = max(size, sizes.get(dim, 0))
        return sizes

    def _plan_of(self, arrays: Mapping[str, np.ndarray]) -> Plan:
        """A plan for arrays of these sizes."""
        sizes = self._sizes(arrays)
        if self._largest is None:
            if self._states:
                raise ValueError("a model with states needs `largest`: how long its caches can be")
            largest: Dict[str, int] = sizes
        else:
            named = dict(self._largest) if isinstance(self._largest, Mapping) else {
                dim: self._largest for port in self.inputs.values() for dim in port.dims if isinstance(dim, str)}
            largest = {**named, **{dim: 0 for dim, size in sizes.items() if size == 0}}
        key = tuple(sorted(largest.items()))
        if key not in self._plans:
            self._plans[key] = self._compile(largest)
        self._plans.move_to_end(key)
        while len(self._plans) > _KEPT:
            self._plans.popitem(last=False)
        return self._plans[key]

    def _compile(self, largest: Largest) -> Plan:
        if self._device is None:
            raise ValueError("the model has no device; give one to heed.onnx.load")
        graph = self.build(largest=largest, states=self._states)
        needs = tuple(sorted(graph.weights()))
        if needs not in self._weights:
            self._weights[needs] = self.upload(self._device, graph)
        return self._device.compile(graph, self._weights[needs], self._options)

    def _extents(self, graph: Graph, arrays: Mapping[str, np.ndarray]) -> Dict[str, int]:
        keep = Keep()
        shapes = []
        for name, array in arrays.items():
            dims = ffi.new("int64_t[]", list(array.shape))
            keep.append(dims)
            shapes.append((self._text(name, "a name", keep), dims, array.ndim))
        values, count = ffi.new("heed_extent_value[]", len(graph._names)), ffi.new("size_t *")
        _c.check(lib.heed_onnx_model_find_extents(self._c, graph._c, ffi.new("heed_onnx_shape[]", shapes), len(shapes), values,
                                                  len(values), count))
        return {text(values[i].name): values[i].value for i in range(count[0])}


def _narrowed(value: Any, dtype: str, what: str) -> Any:
    """Other integers as int32, if they fit."""
    if dtype != "i32" or isinstance(value, (list, tuple, int, float)):
        return value
    array, _ = as_array(value, what)
    if array.dtype.kind not in "iu" or array.dtype == numpy_dtype("i32"):
        return array
    narrow = array.astype(np.int32)
    if not (narrow == array).all():
        raise Error(Status.DTYPE_MISMATCH, f"{what} holds numbers that int32 has not")
    return narrow


def load(file: Union[str, "os.PathLike[str]", bytes, bytearray, memoryview], device: Optional[Device] = None, *,
         largest: Optional[Largest] = None, states: Union[bool, Pairs] = False, options: Optional[CompileOptions] = None) -> Model:
    """Reads an ONNX file, or its bytes, which nobody may change meanwhile. Nothing is uploaded or compiled before the first run.

    - device: to run on. Without one the model can only be inspected, and build graphs.
    - largest: the maximum of each named dim, or one number for all. Without it, plans are compiled for the sizes that occur.
    - states: pairs of an input and an output that stay on the device from run to run: a cache that grows, or a memory that each run
      replaces. An input with "" for the output keeps the value from State.write. True selects Model.caches.
    - options: of Device.compile."""
    if device is not None:
        Device._c_of(device, "device")
    if isinstance(file, (bytes, bytearray, memoryview)):
        memory = _c.blob(file, "file")
        pointer = _c.make(lib.heed_onnx_model_parse, memory, len(memory), ffi.NULL, _c.log(Keep()))
    else:
        memory, pointer = None, _c.make(lib.heed_onnx_model_open, _c.path(file, "file"), _c.log(Keep()))
    return Model(pointer, memory, device, largest, states, options)
