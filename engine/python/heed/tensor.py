"""What graphs are made of: tensors, sizes and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Tuple, Union

from . import _c, _words
from ._c import lib

if TYPE_CHECKING:
    from .graph import Graph


class Dim:
    """A size, or a position, that each run gives: made by Graph.extent, position and sum, or a size of what has such."""

    def __init__(self, graph: "Graph", id: int) -> None:
        self._graph, self._id = graph, id

    @property
    def most(self) -> int:
        """The largest value that it can take."""
        return _c.number(lib.heed_graph_dim_max, self._graph._c, self._id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and other._id == self._id and other._graph is self._graph

    def __hash__(self) -> int:
        return hash((id(self._graph), self._id))

    def __repr__(self) -> str:
        return self._graph._names.get(self._id, f"up to {self.most}")


Size = Union[int, Dim]


class Tensor:
    """One value in one graph."""

    def __init__(self, graph: "Graph", id: int) -> None:
        self._graph, self._id = graph, id

    @property
    def shape(self) -> Tuple[Size, ...]:
        return self._graph._shape_of(self._id)

    @property
    def dtype(self) -> str:
        """"f32", "f16", "bf16", "i32", "u8", or a quantized type of GGUF files such as "q4_k"."""
        return _c.DTYPE_NAMES[_c.number(lib.heed_graph_dtype, self._graph._c, self._id)]

    def reshape(self, *shape: Size) -> "Tensor":
        return self._graph.reshape(self, shape)

    def transpose(self, axis_a: int, axis_b: int) -> "Tensor":
        return self._graph.transpose(self, axis_a, axis_b)

    def __add__(self, other: "Tensor") -> "Tensor":
        return self._graph.add(self, other) if isinstance(other, Tensor) else NotImplemented

    def __mul__(self, other: Union["Tensor", float]) -> "Tensor":
        if isinstance(other, Tensor):
            return self._graph.mul(self, other)
        return self._graph.scale(self, other) if isinstance(other, (int, float)) else NotImplemented

    __rmul__ = __mul__

    def __matmul__(self, other: "Tensor") -> "Tensor":
        return self._graph.matmul(self, other) if isinstance(other, Tensor) else NotImplemented

    def __repr__(self) -> str:
        return f"Tensor({list(self.shape)}, {self.dtype})"


def graph_of(x: Any, what: str = "x") -> "Graph":
    if not isinstance(x, Tensor):
        raise TypeError(f"{what} must be a Tensor, not {type(x).__name__}")
    return x._graph


class Mask:
    """A tensor of u8 (or of bool, in numpy) that says which keys count. Made by exclude() and keep()."""

    def __init__(self, tensor: Tensor, meaning: int) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"a mask is made of a Tensor, not of {type(tensor).__name__}")
        self.tensor, self._meaning = tensor, meaning

    def _checked(self, name: str) -> Tuple[Tensor, int]:
        return self.tensor, self._meaning


# A bare tensor has no meaning.
def _checked_tensor(self: Tensor, name: str) -> Tuple[Tensor, int]:
    raise TypeError(f"{name}: say heed.exclude(tensor) if true leaves a key out, or heed.keep(tensor) if true keeps it")


Tensor._checked = _checked_tensor  # type: ignore[attr-defined]


def masked(value: Any, name: str) -> Tuple[Tensor, int]:
    """The tensor of a Mask, and what its elements mean."""
    if not hasattr(value, "_checked"):
        raise TypeError(f"{name} must be made by heed.keep or heed.exclude, not {type(value).__name__}")
    return value._checked(name)


def exclude(tensor: Tensor) -> Mask:
    """A mask whose nonzero elements leave a key out."""
    return Mask(tensor, _words.MASK_MEANING["exclude"])


def keep(tensor: Tensor) -> Mask:
    """A mask whose nonzero elements keep a key."""
    return Mask(tensor, _words.MASK_MEANING["keep"])


class Port(NamedTuple):
    """An input, output or state of a graph."""

    shape: Tuple[Size, ...]
    dtype: str
