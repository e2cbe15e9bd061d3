"""Graph: operations on tensors, built with plain calls and compiled for a device.

    g = heed.Graph()
    x = g.input("x", [1, g.extent("tokens", 512), 768])
    g.output("y", g.linear(x, g.weight("fc.weight", [3072, 768]), g.weight("fc.bias", [3072])))

Shapes are [outer, ..., inner], at most five sizes. "Broadcast" means numpy's rule. Negative axes count from the end. The first
mistake raises an Error, and so does every later call: a graph with a mistake is of no use. include/heed/graph.hpp has the formula
of each operation.
"""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _c
from ._arrays import as_array, dtype_of, memory, of_list
from ._c import Error, Keep, encoded, ffi, lib, pack
from .custom import CpuFunction, Gradient, GradientFunction, HostFunction, pack_pass
from .tensor import AttentionResult, Dim, Mask, Port, Size, Tensor


class Graph(_c.Handle):
    """Operations on tensors. A graph holds no device and no memory except its constants."""

    _kind = "graph"

    def __init__(self) -> None:
        self._own(_c.make(lib.heed_graph_create))
        self._names: Dict[int, str] = {}  # of extents and positions, by their numbers in C
        self._inputs: Dict[str, Port] = {}
        self._outputs: Dict[str, Port] = {}
        self._states: Dict[str, Port] = {}
        self._functions: List[HostFunction] = []  # of custom passes, which C calls
        self._gradients: List[GradientFunction] = []

    def _copy(self) -> "Graph":
        """Another graph with the same contents."""
        other = Graph.__new__(Graph)
        other._own(_c.make(lib.heed_graph_clone, self._c))
        other._names, other._inputs = dict(self._names), dict(self._inputs)
        other._outputs, other._states = dict(self._outputs), dict(self._states)
        other._functions, other._gradients = list(self._functions), list(self._gradients)
        return other

    # --- Between Python and C -------------------------------------------------------------------------------------------

    def _id_of(self, value: Any, what: str) -> int:
        """The number that C has for a tensor or size."""
        if isinstance(value, (Tensor, Dim)):
            if value._graph is not self:
                raise ValueError(f"{what} belongs to another graph")
            return value._id
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            if value < 0:
                raise ValueError(f"{what} is {value}, must not be negative")
            return int(value)
        raise TypeError(f"{what} must be a Tensor or a size, not {type(value).__name__}")

    def _tensor_id(self, value: Optional[Tensor], what: str) -> int:
        if value is None:
            return 0
        if not isinstance(value, Tensor):
            raise TypeError(f"{what} must be a Tensor, not {type(value).__name__}")
        return self._id_of(value, what)

    def _dims(self, shape: Sequence[Size], what: str = "a size") -> Any:
        if isinstance(shape, (int, Dim)):
            shape = (shape,)
        return ffi.new("heed_dim[]", [self._id_of(size, what) for size in shape])

    def _size(self, dim: int) -> Size:
        return dim if dim >= 0 else Dim(self, dim)

    def _shape_of(self, tensor: int) -> Tuple[Size, ...]:
        dims, rank = ffi.new("heed_dim[5]"), ffi.new("size_t *")
        _c.check(lib.heed_graph_shape(self._c, tensor, dims, 5, rank))
        return tuple(self._size(dims[i]) for i in range(rank[0]))

    def _new(self, tensor: int) -> Tensor:
        """The tensor that a call returned, or the graph's mistake."""
        if tensor == 0:
            self._raise_mistake()
        return Tensor(self, tensor)

    def _tensor_if(self, tensor: int) -> Optional[Tensor]:
        return Tensor(self, tensor) if tensor else None

    def _raise_mistake(self) -> None:
        _c.check(lib.heed_graph_get_status(self._c))
        raise _c.last_error(_c.Status.INVALID_ARGUMENT)

    def _call(self, function: str, *arguments: Any) -> Tensor:
        """heed_graph_FUNCTION, with tensors and sizes among the arguments."""
        numbers = [self._id_of(a, function) if isinstance(a, (Tensor, Dim)) else a for a in arguments]
        return self._new(getattr(lib, "heed_graph_" + function)(self._c, *numbers))

    def _unary(self, function: str, x: Tensor, *arguments: Any) -> Tensor:
        return self._new(getattr(lib, "heed_graph_" + function)(self._c, self._tensor_id(x, "x"), *arguments))

    def _value_of(self, size: Size, extents: Any, count: int) -> int:
        """A size in a run with these extents."""
        return size if isinstance(size, int) else _c.number(lib.heed_graph_dim_value, self._c, size._id, extents, count)

    # --- Sources and results --------------------------------------------------------------------------------------------

    def _dim(self, number: int, name: Optional[str] = None) -> Dim:
        if number == 0:
            self._raise_mistake()
        if name is not None:
            self._names[number] = name
        return Dim(self, number)

    def extent(self, name: str, most: int) -> Dim:
        """A size from 1 to `most` that may differ at each run. Runs find it out from the shapes of inputs."""
        return self._dim(lib.heed_graph_extent(self._c, encoded(name, "name"), most), name)

    def position(self, name: str, most: int) -> Dim:
        """A number from 0 to `most` that each run gives, 0 by default: where a slice begins, or how many rows a cache holds."""
        return self._dim(lib.heed_graph_position(self._c, encoded(name, "name"), most), name)

    def sum(self, a: Size, b: Size, most: int) -> Dim:
        """a + b, at most `most`: a run that would make it more is refused."""
        return self._dim(lib.heed_graph_sum(self._c, self._id_of(a, "a"), self._id_of(b, "b"), most))

    def input(self, name: str, shape: Sequence[Size], dtype: str = "f32") -> Tensor:
        """A tensor that the host gives at each run."""
        dims = self._dims(shape)
        x = self._new(lib.heed_graph_input(self._c, encoded(name, "name"), dims, len(dims), _c.word("dtype", dtype)))
        self._inputs[name] = Port(x.shape, dtype)
        return x

    def weight(self, name: str, shape: Sequence[int], dtype: str = "f32") -> Tensor:
        """A tensor of the Weights that compile gets, by its name there. The same name gives the same tensor."""
        dims = self._dims(shape)
        return self._new(lib.heed_graph_weight(self._c, encoded(name, "name"), dims, len(dims), _c.word("dtype", dtype)))

    def constant(self, name: str, values: Any) -> Tensor:
        """A tensor with these values, f32, i32 or u8, which the graph copies. Lists become f32, i32 or, of bools, u8."""
        if isinstance(values, (list, tuple, int, float)):
            array = of_list(values, {"f": "f32", "b": "u8"}.get(np.asarray(values).dtype.kind, "i32"), f"constant '{name}'")
        else:
            array, _ = as_array(values, name)
        dtype = dtype_of(array)
        if dtype not in ("f32", "i32", "u8"):
            raise Error(_c.Status.DTYPE_MISMATCH, f"constant '{name}' is an array of {array.dtype}, must be float32, int32 or uint8")
        array = np.ascontiguousarray(array).reshape(array.shape)
        dims = self._dims(array.shape)
        return self._new(lib.heed_graph_constant(self._c, encoded(name, "name"), dims, len(dims), _c.word("dtype", dtype),
                                                 memory(array), array.nbytes))

    def output(self, name: str, x: Tensor) -> None:
        """Gives a tensor to the host at each run."""
        _c.check(lib.heed_graph_output(self._c, encoded(name, "name"), self._tensor_id(x, "x")))
        self._outputs[name] = Port(x.shape, x.dtype)

    # --- Tensors that stay from run to run ------------------------------------------------------------------------------

    def state(self, name: str, shape: Sequence[int], dtype: str = "f32") -> Tensor:
        """A tensor of the State that each run is given, as it is at this place of the graph. Once it is written, tensors that
        showed it before may not be used; use what append or assign return."""
        dims = self._dims(shape)
        x = self._new(lib.heed_graph_state(self._c, encoded(name, "name"), dims, len(dims), _c.word("dtype", dtype)))
        self._states[name] = Port(x.shape, dtype)
        return x

    def append(self, state: Tensor, rows: Tensor, axis: int, at: Union[Size, Tensor]) -> Tensor:
        """Writes rows to the elements at, at + 1, ... of an axis of a state, and returns all of it. `at` may be a tensor i32: a place
        for each index of axis 0, or for each element along the axis; what has a place below 0 is not written."""
        function = "append_at" if isinstance(at, Tensor) else "append"
        return self._call(function, state, rows, axis, self._id_of(at, "at"))

    def assign(self, state: Tensor, value: Tensor) -> Tensor:
        """Writes all that `state` shows, which may be a view of a state."""
        return self._call("assign", state, value)

    # --- Views ----------------------------------------------------------------------------------------------------------

    def reshape(self, x: Tensor, shape: Sequence[Size]) -> Tensor:
        dims = self._dims(shape)
        return self._unary("reshape", x, dims, len(dims))

    def permute(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        return self._unary("permute", x, ffi.new("int32_t[]", list(axes)), len(axes))

    def transpose(self, x: Tensor, axis_a: int, axis_b: int) -> Tensor:
        return self._unary("transpose", x, axis_a, axis_b)

    def slice(self, x: Tensor, axis: int, begin: Size, size: Size) -> Tensor:
        """Elements begin .. begin + size of an axis."""
        return self._unary("slice", x, axis, self._id_of(begin, "begin"), self._id_of(size, "size"))

    def last(self, x: Tensor, axis: int) -> Tensor:
        """The last element of an axis, as a slice of size 1."""
        return self._unary("last", x, axis)

    def select(self, x: Tensor, axis: int, index: int) -> Tensor:
        """One element of an axis, which is removed."""
        return self._unary("select", x, axis, index)

    def take(self, x: Tensor, axis: int, places: Tensor) -> Tensor:
        """Elements at places, i32, that differ from row to row: x [B, S, C], axis 1 and places [B, N] give [B, N, C]."""
        return self._unary("take", x, axis, self._tensor_id(places, "places"))

    # --- Products and rows ----------------------------------------------------------------------------------------------

    def matmul(self, a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False, scale: float = 1.0) -> Tensor:
        """scale * a [..., M, K] x b [..., K, N], summed in f32. Ranks are 2 to 4, and leading sizes broadcast."""
        options = dict(transpose_a=transpose_a, transpose_b=transpose_b, scale=scale)
        return self._call("matmul", a, b, pack("heed_matmul_options", options, Keep()))

    def linear(self, x: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Tensor:
        """x [..., in] x weight [out, in], plus bias [out], as torch.nn.Linear."""
        return self._unary("linear", x, self._tensor_id(weight, "weight"), self._tensor_id(bias, "bias"))

    def softmax(self, x: Tensor, *, scale: float = 1.0, causal: Optional[str] = None, key_padding: Optional[Mask] = None,
                mask: Optional[Mask] = None, bias: Optional[Tensor] = None, masked_fill: Optional[float] = None) -> Tensor:
        """softmax(scale * x + bias) over the visible keys of each row; zeros for a row without any, unless masked_fill is the score
        of hidden keys. `causal` is "top_left" or "bottom_right", key_padding [B, S_k], and mask and bias broadcast to x."""
        options = dict(scale=scale, causal=causal, key_padding=key_padding, mask=mask, bias=bias, masked_fill=masked_fill)
        return self._unary("softmax", x, pack("heed_softmax_options", options, Keep(), self))

    def layernorm(self, x: Tensor, gamma: Optional[Tensor] = None, beta: Optional[Tensor] = None, eps: float = 1e-5) -> Tensor:
        return self._unary("layernorm", x, self._tensor_id(gamma, "gamma"), self._tensor_id(beta, "beta"), eps)

    def rmsnorm(self, x: Tensor, gamma: Optional[Tensor] = None, eps: float = 1e-6) -> Tensor:
        return self._unary("rmsnorm", x, self._tensor_id(gamma, "gamma"), eps)

    def l2_normalize(self, x: Tensor, eps: float = 1e-12) -> Tensor:
        return self._unary("l2_normalize", x, eps)

    def rotary(self, x: Tensor, *, pairs: str = "halves", width: int = 0, base: float = 10000.0, first: Size = 0,
               positions: Optional[Tensor] = None, scaling: Optional[str] = None, factor: float = 1.0, low: float = 1.0,
               high: float = 4.0, trained_length: int = 8192) -> Tensor:
        """x [..., S, C], with pair i of each row turned by position * base^(-2i / width). `pairs` are "halves" or "adjacent",
        `scaling` is "linear" or "llama3", positions i32."""
        options = dict(pairs=pairs, width=width, base=base, first=first, positions=positions, scaling=scaling, factor=factor,
                       low=low, high=high, trained_length=trained_length)
        return self._unary("rotary", x, pack("heed_rotary_options", options, Keep(), self))

    def cross_entropy(self, logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> Tensor:
        """The loss of each row of logits [..., V] against labels i32 [...], f32; 0 where a label is no index."""
        return self._unary("cross_entropy", logits, self._tensor_id(labels, "labels"), label_smoothing)

    def argmax(self, x: Tensor) -> Tensor:
        """i32, the first of equal ones; removes the last axis."""
        return self._unary("argmax", x)

    def sample(self, logits: Tensor, *, previous: Optional[Tensor] = None, previous_count: Optional[Size] = None,
               previous_counts: Optional[Tensor] = None, repetition_penalty: float = 1.0, bias: Optional[Tensor] = None,
               temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0, step: Size = 0,
               steps: Optional[Tensor] = None, seeds: Optional[Tensor] = None, stream: Optional[int] = None,
               settings: Optional[Tensor] = None) -> Tensor:
        """Draws a token for each row of logits [..., V]: i32. A temperature of 0 takes the largest. The same logits, options and
        seed give the same token on every device."""
        options: Dict[str, Any] = dict(
            previous=previous, previous_count=previous_count, previous_counts=previous_counts, bias=bias, top_k=top_k, top_p=top_p,
            min_p=min_p, repetition_penalty=repetition_penalty, step=step, steps=steps, seeds=seeds, stream=stream,
            settings=settings, greedy=temperature == 0, temperature=temperature or None)
        return self._unary("sample", logits, pack("heed_sample_options", options, Keep(), self))

    def attention(self, query: Tensor, key: Tensor, value: Tensor, *, scale: Optional[float] = None,
                  causal: Optional[str] = None, window: int = 0, lengths: Optional[Tensor] = None,
                  positions: Optional[Tensor] = None, key_padding: Optional[Mask] = None, mask: Optional[Mask] = None,
                  bias: Optional[Tensor] = None, masked_fill: Optional[float] = None, dropout: float = 0.0,
                  return_weights: bool = False, return_log_sum_exp: bool = False) -> AttentionResult:
        """softmax(scale q k^T + bias) v of query [B, H, S_q, d_k], key [B, G, S_kv, d_k] and value [B, G, S_kv, d_v], where G divides
        H. A query that sees no key gives zeros. include/heed/graph.hpp describes the options."""
        options = dict(scale=scale, causal=causal, window=window, lengths=lengths, positions=positions, key_padding=key_padding,
                       mask=mask, bias=bias, masked_fill=masked_fill, dropout=dropout, return_weights=return_weights,
                       return_log_sum_exp=return_log_sum_exp)
        result = ffi.new("heed_attention_result *")
        self._call("attention", query, key, value, pack("heed_attention_options", options, Keep(), self), result)
        return self._attention_result(result)

    def _attention_result(self, result: Any) -> AttentionResult:
        return AttentionResult(*(Tensor(self, t) if t else None  # type: ignore[arg-type]
                                 for t in (result.output, result.weights, result.log_sum_exp)))

    # --- Everything else ------------------------------------------------------------------------------------------------

    def dropout(self, x: Tensor, p: float, stream: Optional[int] = None) -> Tensor:
        """In training plans, zeroes elements with probability p and scales the others by 1 / (1 - p)."""
        if stream is not None and stream < 0:
            raise ValueError(f"stream is {stream}, must not be negative")
        return self._unary("dropout", x, p, -1 if stream is None else stream)

    def embedding(self, table: Tensor, ids: Tensor, dtype: Optional[str] = None) -> Tensor:
        """Rows of a table [V, C] by ids i32 [...]: [..., C]."""
        return self._call("embedding", table, ids, _c.word("dtype", dtype))

    def positional_encoding(self, x: Tensor) -> Tensor:
        """x [..., S, C] plus the sinusoidal table (Vaswani et al. 2017, section 3.5)."""
        return self._unary("positional_encoding", x)

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        return self._call("add", a, b)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        return self._call("mul", a, b)

    def scale(self, x: Tensor, factor: float) -> Tensor:
        return self._unary("scale", x, factor)

    def activation(self, x: Tensor, kind: str) -> Tensor:
        """"relu", "gelu_erf", "gelu_tanh", "silu", "tanh" or "none"."""
        return self._unary("activation", x, _c.word("activation", kind))

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        """Among f32, f16 and bf16."""
        return self._unary("cast", x, _c.word("dtype", dtype))

    def mean(self, x: Tensor, axis: int, mask: Optional[Mask] = None) -> Tensor:
        """Over one axis, which is removed. For x [B, S, C] and axis 1, a mask [B, S] leaves tokens out."""
        tensor, meaning = (None, 0) if mask is None else _c.masked(mask, "mask")
        return self._unary("mean", x, axis, self._tensor_id(tensor, "mask"), meaning)

    def concat(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        """Joins parts of one type along an axis."""
        ids = ffi.new("heed_tensor[]", [self._tensor_id(part, "a part") for part in parts])
        return self._new(lib.heed_graph_concat(self._c, ids, len(ids), axis))

    def custom(self, name: str, inputs: Sequence[Tensor], outputs: Sequence[Tuple[Sequence[Size], str]], *, spirv: Any = None,
               entry_point: str = "main", constants: Sequence[int] = (), push: Sequence[Union[int, float, Dim]] = (),
               groups: Sequence[Tuple[Sequence[Size], int]] = (), cpu: Optional[CpuFunction] = None,
               gradient: Optional[Gradient] = None, group_work: float = 0.0) -> Tuple[Tensor, ...]:
        """A pass of the host's own: a compute shader, and a function that the CPU device calls instead. It returns its outputs, one or
        two, which are given as (shape, dtype).

            doubled, = g.custom("double", [x], [(x.shape, "f32")], spirv=pathlib.Path("double.spv").read_bytes(), push=[n],
                                groups=[([n], 64)], cpu=lambda inputs, outputs, push: numpy.add(inputs[0], inputs[0], outputs[0]))

        `spirv` are bytes, `constants` the specialization constants 0, 1, ..., `push` the words behind the offsets of the bindings:
        numbers, or sizes and positions of the graph. `groups` says for x, y and z how many workgroups there are: the product of sizes,
        divided by a number and rounded up. include/heed/custom.hpp says what a shader sees.

        cpu(inputs, outputs, push) gets arrays in place, which are there during the call only, and the words of push as numbers. It must
        not call heed. What it raises is raised by the run, of which the outputs then mean nothing.

        gradient(inputs, outputs, upstream, wanted) is called by heed.train.gradients: it adds to this graph what gives the gradient of
        each input, and returns these tensors, None for zeros. `upstream` are the gradients of the outputs, None for zeros, and `wanted`
        says for which inputs anybody asks."""
        keep, function = Keep(), None if cpu is None else HostFunction(cpu)
        differentiate = None if gradient is None else GradientFunction(gradient)
        c = pack_pass(self, name, outputs, spirv, entry_point, constants, push, groups, function, differentiate, group_work, keep)
        ids = ffi.new("heed_tensor[]", [self._tensor_id(x, "an input") for x in inputs])
        made = ffi.new("heed_tensor[]", len(outputs))
        _c.check(lib.heed_graph_custom(self._c, c, ids, len(ids), made))
        if function is not None:
            self._functions.append(function)
        if differentiate is not None:
            self._gradients.append(differentiate)
        return tuple(self._new(t) for t in made)

    @contextlib.contextmanager
    def label(self, name: str) -> Iterator[None]:
        """Labels the passes of operations in a `with` block, as in "encoder.0.attention". Labels nest."""
        _c.check(lib.heed_graph_push_label(self._c, encoded(name, "name")))
        try:
            yield
        finally:
            lib.heed_graph_pop_label(self._c)
