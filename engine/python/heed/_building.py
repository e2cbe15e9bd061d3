"""Helpers of calls that add to a graph: convert tensors, sizes and options to C, and results back."""

from __future__ import annotations

import numbers
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from . import _c, _words
from ._c import Keep, ffi, lib, listed
from .tensor import Dim, Mask, Port, Size, Tensor, masked, no_tensor


class Building(_c.Handle):
    """A graph behind a C handle."""

    _kind = "graph"
    _names: Dict[int, str]  # names of extents and positions, by their numbers in C

    def _own_id(self, value: Any, what: str) -> int:
        if value._graph is not self:
            raise ValueError(f"{what} belongs to another graph")
        return int(value._id)

    def _id_of(self, value: Any, what: str) -> int:
        """The C number of a tensor."""
        if not isinstance(value, Tensor):
            raise no_tensor(value, what)
        return self._own_id(value, what)

    def _size_id(self, value: Any, what: str) -> int:
        """The C number of a size. Negative numbers have a meaning for some operations; C refuses them for others."""
        if isinstance(value, Dim):
            return self._own_id(value, what)
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
            raise TypeError(f"{what} must be a whole number or a Dim, not {type(value).__name__}")
        if not -(1 << 31) <= value < 1 << 62:
            raise ValueError(f"{what} is {value}, must be at least -2**31 and below 2**62")
        return int(value)

    def _operands(self, **values: Any) -> List[int]:
        """The C numbers of operands of an elementwise function. A Python number gets the type of the tensors."""
        types = [value.dtype for value in values.values() if isinstance(value, Tensor)]
        return [self._number_id(value, types[0], what) if types and isinstance(value, numbers.Real) else self._id_of(value, what)
                for what, value in values.items()]

    def _number_id(self, value: Any, dtype: str, what: str) -> int:
        if dtype not in ("i32", "u8"):
            dtype = "f32"  # valid for all floating-point types
        elif not isinstance(value, numbers.Integral):
            raise TypeError(f"{what} is {value!r} beside a tensor of {dtype}, must be a whole number; Graph.cast makes floats")
        return self._new(lib.heed_graph_number(self._c, float(value), _words.DTYPE[dtype]))._id

    def _tensor_id(self, value: Optional[Tensor], what: str) -> int:
        return 0 if value is None else self._id_of(value, what)

    def _tensor_ids(self, values: Sequence[Tensor], what: str) -> Tuple[Any, int]:
        ids = ffi.new("heed_tensor[]", [self._id_of(value, f"{what}[{i}]") for i, value in enumerate(listed(values, what))])
        return ids, len(ids)

    def _mask(self, value: Optional[Mask], what: str) -> Tuple[int, int]:
        """The C numbers of a mask's tensor and of its meaning."""
        if value is None:
            return 0, -1
        tensor, meaning = masked(value, what)
        return self._tensor_id(tensor, what), meaning

    def _dims(self, shape: Sequence[Size], what: str = "shape") -> Any:
        if isinstance(shape, (int, Dim)):
            shape = (shape,)
        return ffi.new("heed_dim[]", [self._size_id(size, f"{what}[{i}]") for i, size in enumerate(listed(shape, what))])

    def _shape(self, shape: Sequence[Size], what: str = "shape") -> Tuple[Any, int]:
        dims = self._dims(shape, what)
        return dims, len(dims)

    def _size(self, dim: int) -> Size:
        return dim if dim >= 0 else Dim(self, dim)  # type: ignore[arg-type]

    def _shape_of(self, tensor: int) -> Tuple[Size, ...]:
        dims, rank = ffi.new("heed_dim[]", lib.HEED_MAX_RANK), ffi.new("size_t *")
        _c.check(lib.heed_graph_shape(self._c, tensor, dims, lib.HEED_MAX_RANK, rank))
        return tuple(self._size(dims[i]) for i in range(rank[0]))

    def _value_of(self, size: Size, extents: Any, count: int) -> int:
        """The value of a size in a run with these extents."""
        return size if isinstance(size, int) else _c.number(lib.heed_graph_dim_value, self._c, size._id, extents, count)

    # --- Results of calls -----------------------------------------------------------------------------------------------

    def _new(self, tensor: int) -> Tensor:
        """The tensor that a call returned; raises the graph's mistake."""
        if tensor == 0:
            self._raise_mistake()
        return Tensor(self, tensor)  # type: ignore[arg-type]

    def _tensor_if(self, tensor: int) -> Optional[Tensor]:
        return Tensor(self, tensor) if tensor else None  # type: ignore[arg-type]

    def _dim(self, number: int, name: Optional[str] = None) -> Dim:
        if number == 0:
            self._raise_mistake()
        if name is not None:
            self._names[number] = name
        return Dim(self, number)  # type: ignore[arg-type]

    def _check(self, status: int) -> None:
        """Raises the mistake of a failed call, and removes what the call had added, so that a notebook can go on."""
        if status != 0:
            error = _c.last_error(status)
            lib.heed_graph_roll_back(self._c)
            raise error

    def _raise_mistake(self) -> None:
        self._check(lib.heed_graph_get_status(self._c))
        raise _c.last_error(_c.Status.INVALID_ARGUMENT)

    def _all_of(self, result: Any) -> Iterator[Any]:
        """The tensors of a struct of results; None for missing ones."""
        return (self._tensor_if(getattr(result, name)) for name, _ in ffi.typeof(result).item.fields)

    def _given(self, keep: Keep) -> Iterator[Optional[Tensor]]:
        """The weights of each attention; None if they were not requested."""
        return (self._tensor_if(w[0]) if w else None for w in keep.weights)

    def _with_weights(self, output: Tensor, keep: Keep) -> Any:
        return (output, *self._given(keep)) if any(keep.weights) else output

    def _port(self, x: Tensor) -> Port:
        return Port(x.shape, x.dtype)
