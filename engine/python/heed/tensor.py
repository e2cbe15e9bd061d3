"""The building blocks of graphs: tensors, sizes and masks."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence, Tuple, Union

from . import _c, _words
from ._c import lib

if TYPE_CHECKING:
    from ._options import TopKResult
    from .graph import Graph

__all__ = ["Dim", "Mask", "Operand", "Port", "Size", "Tensor", "exclude", "keep"]


class Dim:
    """A size or position that each run gives: made by Graph.extent and position, or derived from such numbers. `b * s`, `n + 1`, `(n - 1)
    // 2` and `n / 2` are such numbers, too; a run in which n / 2 is not an integer is refused."""

    def __init__(self, graph: "Graph", id: int) -> None:
        self._graph, self._id = graph, id

    @property
    def most(self) -> int:
        """The largest value that it can have."""
        return _c.number(lib.heed_graph_dim_max, self._graph._c, self._id)

    def __add__(self, other: "Size") -> "Dim":
        return self._graph.sum(self, other)

    __radd__ = __add__

    def __sub__(self, other: "Size") -> "Size":
        if other == self:
            return 0  # C also returns 0 for a mistake
        return self._graph.dim_difference(self, other)

    def __rsub__(self, other: int) -> "Dim":
        return self._graph.dim_difference(other, self)

    def __mul__(self, other: "Size") -> "Dim":
        return self._graph.dim_product(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: "Size") -> "Dim":
        return self._graph.dim_quotient(self, other)

    def __floordiv__(self, other: "Size") -> "Dim":
        return self._graph.dim_floor_quotient(self, other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and other._id == self._id and other._graph is self._graph

    def __hash__(self) -> int:
        return hash((id(self._graph), self._id))

    def __repr__(self) -> str:
        return self._graph._names.get(self._id, f"up to {self.most}")


Size = Union[int, Dim]
Axes = Union[None, int, Sequence[int]]


class Tensor:
    """One value in one graph.

    Operators work elementwise, as in numpy, with tensors or numbers on either side: + - * / % ** and abs, comparisons, which give u8
    masks, and & | ~ of such masks. @ is Graph.matmul. A number gets the tensor's type; numbers that the type cannot hold are refused."""

    def __init__(self, graph: "Graph", id: int) -> None:
        self._graph, self._id = graph, id

    @property
    def shape(self) -> Tuple[Size, ...]:
        """The sizes, outermost first: numbers, or Dims that each run gives."""
        return self._graph._shape_of(self._id)

    @property
    def dtype(self) -> str:
        """"f32", "f16", "bf16", "i32", "u8", or a quantized type of GGUF files such as "q4_k"."""
        return _c.DTYPE_NAMES[_c.number(lib.heed_graph_dtype, self._graph._c, self._id)]

    def reshape(self, *shape: Union[Size, Sequence[Size]]) -> "Tensor":
        """The same elements in another shape, given as sizes or as one list. One size may be -1: it follows from the others."""
        return self._graph.reshape(self, _one_list(shape))

    def transpose(self, axis_a: int, axis_b: int) -> "Tensor":
        """The tensor with axis_a and axis_b swapped."""
        return self._graph.transpose(self, axis_a, axis_b)

    def permute(self, *axes: Union[int, Sequence[int]]) -> "Tensor":
        """The tensor with its axes in this order, given as numbers or as one list."""
        return self._graph.permute(self, _one_list(axes))

    def expand(self, *shape: Union[Size, Sequence[Size]]) -> "Tensor":
        """The tensor broadcast to a shape by numpy's rule, without a copy. A size of -1 keeps the tensor's size, as in PyTorch."""
        sizes = _c.listed(_one_list(shape), "shape")
        added = len(sizes) - len(self.shape)
        for i, own in enumerate(self.shape if added >= 0 else (), added):
            sizes[i] = own if sizes[i] == -1 else sizes[i]
        return self._graph.expand(self, sizes)

    def sum(self, axis: Axes = None, keepdims: bool = False) -> "Tensor":
        """The sum over an axis or several, or over all: see Graph.reduce. The axes are removed, or stay with size 1."""
        return self._reduced("sum", axis, keepdims)

    def mean(self, axis: Axes = None, keepdims: bool = False) -> "Tensor":
        """The mean over an axis or several, or over all: see Graph.reduce. The axes are removed, or stay with size 1."""
        return self._reduced("mean", axis, keepdims)

    def prod(self, axis: Axes = None, keepdims: bool = False) -> "Tensor":
        """The product over an axis or several, or over all: see Graph.reduce. The axes are removed, or stay with size 1."""
        return self._reduced("product", axis, keepdims)

    def max(self, axis: Axes = None, keepdims: bool = False) -> "Tensor":
        """The largest element along an axis or several, or of all: see Graph.reduce. The axes are removed, or stay with size 1."""
        return self._reduced("max", axis, keepdims)

    def min(self, axis: Axes = None, keepdims: bool = False) -> "Tensor":
        """The smallest element along an axis or several, or of all: see Graph.reduce. The axes are removed, or stay with size 1."""
        return self._reduced("min", axis, keepdims)

    def logsumexp(self, axis: Axes = None, keepdims: bool = False) -> "Tensor":
        """log(sum of e^x) over an axis or several, or over all: see Graph.reduce. The axes are removed, or stay with size 1."""
        return self._reduced("log_sum_exp", axis, keepdims)

    def norm(self, axis: Axes = None, keepdims: bool = False) -> "Tensor":
        """sqrt(sum of x^2) over an axis or several, or over all: see Graph.reduce. The axes are removed, or stay with size 1."""
        return self._reduced("l2", axis, keepdims)

    def _reduced(self, kind: str, axis: Axes, keepdims: bool) -> "Tensor":
        keep = bool(_c.truth(keepdims, "keepdims"))
        if axis is None:
            return self._graph.reduce(self, kind, [], keep)
        rank = len(self.shape)
        axes = [_c.int32(a, "axis") for a in ([axis] if isinstance(axis, int) else _c.listed(axis, "axis"))]
        axes = [a + rank if a < 0 else a for a in axes]
        if len(set(axes)) != len(axes) or any(not 0 <= a < rank for a in axes) or not axes:
            raise ValueError(f"axis is {axis!r}; must be different axes of a tensor of rank {rank}")
        return self._graph.reduce(self, kind, axes, keep)

    def argmax(self, axis: int = -1, keepdims: bool = False) -> "Tensor":
        """The i32 index of the largest element along an axis: see Graph.argmax."""
        return self._graph.argmax(self, axis, bool(_c.truth(keepdims, "keepdims")))

    def argmin(self, axis: int = -1, keepdims: bool = False) -> "Tensor":
        """The i32 index of the smallest element along an axis: see Graph.argmax."""
        return self._graph.argmin(self, axis, bool(_c.truth(keepdims, "keepdims")))

    def cumsum(self, axis: int) -> "Tensor":
        """Cumulative sums along an axis: see Graph.cumsum."""
        return self._graph.cumsum(self, axis)

    def topk(self, k: int, axis: int = -1, smallest: bool = False) -> "TopKResult":
        """The k largest elements along an axis, and their indices: see Graph.top_k."""
        return self._graph.top_k(self, k, axis, smallest)

    def __getitem__(self, index: Any) -> "Tensor":
        """Indexing as in numpy: numbers (also negative, and positions), slices, `...` and None, in a tuple for several axes. A slice is a
        view, except with a negative step, which takes a pass. Bounds may be Dims. On an axis whose size is an extent, a slice has no
        step, and its end must count from the same side as its begin, or be negative."""
        parts = list(index) if isinstance(index, tuple) else [index]
        rank, used = len(self.shape), sum(part is not None and part is not Ellipsis for part in parts)
        if sum(part is Ellipsis for part in parts) > 1:
            raise IndexError("an index has one '...' at most")
        if used > rank:
            raise IndexError(f"{used} indices for a tensor of rank {rank}")
        if not any(part is Ellipsis for part in parts):
            parts.append(Ellipsis)
        at = next(i for i, part in enumerate(parts) if part is Ellipsis)
        parts[at:at + 1] = [slice(None)] * (rank - used)
        x, axis = self, 0
        for part in parts:
            if part is None:
                x = self._graph.reshape(x, [*x.shape[:axis], 1, *x.shape[axis:]])
            elif isinstance(part, slice):
                x = _sliced(x, axis, part)
            elif isinstance(part, Dim):
                x = self._graph.select(self._graph.slice(x, axis, part, 1), axis, 0)
                continue
            elif isinstance(part, Tensor):
                raise TypeError("an index is a Tensor; Graph.take and Graph.embedding read at indices in tensors")
            else:
                x = self._graph.select(x, axis, _c.int32(part, "an index"))
                continue
            axis += 1
        return x

    def __iter__(self) -> Any:
        raise TypeError("a Tensor cannot be iterated over; Graph.split gives its parts")

    def __bool__(self) -> bool:
        raise TypeError("a Tensor has no truth value; its values are known when a plan runs")

    # Makes numpy's arrays and numbers leave operators to this class.
    __array_ufunc__ = None
    # Tensors are hashed by identity as keys of dicts, since == compares elements.
    __hash__ = object.__hash__

    def _with(self, name: str, a: Any, b: Any) -> Any:
        for x in (a, b):
            if not isinstance(x, (Tensor, numbers.Real)):
                if hasattr(x, "__array__"):
                    raise TypeError(f"an operand is a {named_class(x)}; Graph.constant and Graph.input make tensors of arrays")
                return NotImplemented
        return getattr(self._graph, name)(a, b)

    def __neg__(self) -> "Tensor":
        return self._graph.neg(self)

    def __abs__(self) -> "Tensor":
        return self._graph.abs(self)

    def __invert__(self) -> "Tensor":
        """Elementwise not, of a u8 mask."""
        return self._graph.logical_not(self)

    def __add__(self, other: "Operand") -> "Tensor":
        return self._with("add", self, other)

    def __radd__(self, other: float) -> "Tensor":
        return self._with("add", other, self)

    def __sub__(self, other: "Operand") -> "Tensor":
        return self._with("sub", self, other)

    def __rsub__(self, other: float) -> "Tensor":
        return self._with("sub", other, self)

    def __mul__(self, other: "Operand") -> "Tensor":
        return self._with("mul", self, other)

    def __rmul__(self, other: float) -> "Tensor":
        return self._with("mul", other, self)

    def __truediv__(self, other: "Operand") -> "Tensor":
        """Division of floats; Graph.div also divides i32, and rounds towards zero."""
        return self._with("div", self._of_floats(), other)

    def __rtruediv__(self, other: float) -> "Tensor":
        return self._with("div", other, self._of_floats())

    def _of_floats(self) -> "Tensor":
        if self.dtype in ("i32", "u8"):
            raise TypeError(f"/ is of floats, not of {self.dtype}: Graph.cast makes floats, and Graph.div rounds towards zero")
        return self

    def __mod__(self, other: "Operand") -> "Tensor":
        return self._with("mod", self, other)

    def __rmod__(self, other: float) -> "Tensor":
        return self._with("mod", other, self)

    def __pow__(self, other: "Operand") -> "Tensor":
        return self._with("pow", self, other)

    def __rpow__(self, other: float) -> "Tensor":
        return self._with("pow", other, self)

    def __and__(self, other: "Tensor") -> "Tensor":
        """Elementwise and, of u8 masks."""
        return self._with("logical_and", self, other)

    __rand__ = __and__

    def __or__(self, other: "Tensor") -> "Tensor":
        """Elementwise or, of u8 masks."""
        return self._with("logical_or", self, other)

    __ror__ = __or__

    # Comparisons work elementwise, and give u8.

    def __eq__(self, other: "Operand") -> "Tensor":  # type: ignore[override]
        return self._with("eq", self, other)

    def __ne__(self, other: "Operand") -> "Tensor":  # type: ignore[override]
        return self._with("ne", self, other)

    def __lt__(self, other: "Operand") -> "Tensor":
        return self._with("lt", self, other)

    def __le__(self, other: "Operand") -> "Tensor":
        return self._with("le", self, other)

    def __gt__(self, other: "Operand") -> "Tensor":
        return self._with("gt", self, other)

    def __ge__(self, other: "Operand") -> "Tensor":
        return self._with("ge", self, other)

    def __matmul__(self, other: "Tensor") -> "Tensor":
        return self._graph.matmul(self, other) if isinstance(other, Tensor) else NotImplemented

    def __repr__(self) -> str:
        return f"Tensor({list(self.shape)}, {self.dtype})"

    if not TYPE_CHECKING:  # type checkers should still report unknown attributes

        def __getattr__(self, name):
            instead = _INSTEAD.get(name) or (f"Graph.{name}" if not name.startswith("_") and hasattr(type(self._graph), name) else None)
            raise AttributeError(f"a Tensor has no '{name}'" + (f"; there is {instead}" if instead else ""))


# Names that PyTorch's users may try, and what to use instead.
_INSTEAD = {
    **{name: f"Graph.activation(x, {name!r})" for name in _words.ACTIVATION}, "cat": "Graph.concat", "chunk": "Graph.split", "dim": "len(x.shape)",
    "flatten": "x.reshape", "float": "Graph.cast", "item": "Plan.run", "masked_fill": "Graph.where", "ndim": "len(x.shape)", "numpy": "Plan.run",
    "repeat": "Graph.tile", "size": "x.shape", "squeeze": "x[:, 0]", "swapaxes": "x.transpose", "T": "x.transpose", "to": "Graph.cast",
    "unflatten": "x.reshape", "unsqueeze": "x[:, None]", "view": "x.reshape"}


# An operand of an elementwise function: a number stands for a tensor of one element.
Operand = Union[Tensor, float]


def _one_list(values: Tuple[Any, ...]) -> Sequence[Any]:
    return values[0] if len(values) == 1 and isinstance(values[0], (list, tuple)) else values


def _sliced(x: Tensor, axis: int, part: slice) -> Tensor:
    """x[..., begin:end:step, ...] along an axis."""
    g, size = x._graph, x.shape[axis]
    if any(isinstance(bound, Tensor) for bound in (part.start, part.stop, part.step)):
        raise TypeError("a bound of a slice is a Tensor; Graph.take reads at indices in tensors")
    if part == slice(None):
        return x
    step = 1 if part.step is None else _c.int32(part.step, "the step of a slice")
    if isinstance(size, int) and not isinstance(part.start, Dim) and not isinstance(part.stop, Dim):
        places = range(size)[part]
        if not places:
            raise IndexError(f"the slice {part.start}:{part.stop}:{part.step} of an axis of {size} is empty")
        first, last = min(places[0], places[-1]), max(places[0], places[-1])
        x = g.slice(x, axis, first, last - first + 1)
        return g.stride(g.flip(x, axis) if step < 0 else x, axis, abs(step))
    if step != 1:
        raise TypeError(f"the step of a slice is {step}, must be 1 where a size is an extent")
    begin, end = 0 if part.start is None else part.start, part.stop
    if end is None:
        end_size: Size = -1
    elif isinstance(end, int) and end < 0:
        end_size = end - 1
    elif isinstance(begin, Dim) or 0 <= begin and (isinstance(end, Dim) or begin < end):
        end_size = end - begin if begin != 0 else end
    else:
        raise TypeError(f"the slice {begin}:{end} of an axis whose size is an extent; Graph.slice takes a begin and a size")
    return g.slice(x, axis, begin, end_size)


def named_class(value: Any) -> str:
    """The name of a value's class with its module, for messages, since PyTorch has a Tensor, too."""
    kind = type(value)
    return f"{kind.__module__.split('.')[0]}.Tensor" if kind.__name__ == "Tensor" else kind.__name__


def no_tensor(value: Any, what: str) -> TypeError:
    """The error for an argument that is not a Tensor."""
    arrays = "; Graph.input, weight and constant make tensors of arrays" if hasattr(value, "__array__") else ""
    return TypeError(f"{what} must be a Tensor, not {named_class(value)}{arrays}")


def graph_of(x: Any, what: str = "x") -> "Graph":
    if not isinstance(x, Tensor):
        raise no_tensor(x, what)
    return x._graph


class Mask:
    """A u8 tensor (numpy: bool) that says which keys count. Made by exclude() and keep()."""

    def __init__(self, tensor: Tensor, meaning: int) -> None:
        if not isinstance(tensor, Tensor):
            raise no_tensor(tensor, "tensor")
        self.tensor, self._meaning = tensor, meaning

    def _checked(self, name: str) -> Tuple[Tensor, int]:
        return self.tensor, self._meaning


# A bare tensor as a mask is refused, since its meaning is not stated.
def _checked_tensor(self: Tensor, name: str) -> Tuple[Tensor, int]:
    raise TypeError(f"{name}: say heed.exclude(tensor) if true leaves a key out, or heed.keep(tensor) if true keeps it")


Tensor._checked = _checked_tensor  # type: ignore[attr-defined]


def masked(value: Any, name: str) -> Tuple[Tensor, int]:
    """The tensor of a Mask, and the meaning of its elements."""
    if not hasattr(value, "_checked"):
        raise TypeError(f"{name} must be made by heed.keep or heed.exclude, not {named_class(value)}")
    return value._checked(name)


def exclude(tensor: Tensor) -> Mask:
    """A mask whose nonzero elements exclude a key."""
    return Mask(tensor, _words.MASK_MEANING["exclude"])


def keep(tensor: Tensor) -> Mask:
    """A mask whose nonzero elements keep a key."""
    return Mask(tensor, _words.MASK_MEANING["keep"])


class Port(NamedTuple):
    """An input, output or state of a graph.

    - shape: sizes, outermost first: numbers or Dims.
    - dtype: "f32", "f16" and so on."""

    shape: Tuple[Size, ...]
    dtype: str
