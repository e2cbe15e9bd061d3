"""State: tensors that stay on a device from run to run, such as caches of keys and values."""

from __future__ import annotations

import builtins
from typing import Any, Dict, Optional

import numpy as np

from . import _c
from ._arrays import as_input, as_output, memory, numpy_dtype
from ._c import Error, Keep, Status, encoded, ffi, lib
from .tensor import Port

__all__ = ["State"]


class State(_c.Handle):
    """Made by Plan.make_state. One run or call may use it at a time; a second one at the same time raises an Error."""

    _kind = "state"

    def __init__(self, pointer: Any, ports: Dict[str, Port]) -> None:
        self._own(pointer)
        self._ports = dict(ports)

    @property
    def bytes(self) -> int:
        """Memory of the tensors, in bytes."""
        return _c.number(lib.heed_state_bytes, self._c)

    def clear(self) -> None:
        """Sets all elements to zero."""
        _c.check(lib.heed_state_clear(self._c))

    def copy(self, other: "State") -> None:
        """Copies the contents of another State of the same device with the same tensors, as when a conversation forks."""
        _c.check(lib.heed_state_copy(self._c, State._c_of(other, "other")))

    def copy_row(self, other: "State", from_row: int, to_row: int) -> None:
        """Copies one row (index of the first axis) of all tensors of another State, or of this one."""
        _c.check(lib.heed_state_copy_row(self._c, State._c_of(other, "other"), _c.whole(from_row, "from_row"),
                                          _c.whole(to_row, "to_row")))

    def save(self) -> builtins.bytes:
        """Saves all tensors with names, shapes, types and a checksum; any device can load them."""
        return _c.take_blob(lib.heed_state_save, self._c)

    def load(self, saved: builtins.bytes) -> None:
        """Loads the result of save(). If tensors differ, or the bytes are damaged, nothing is written."""
        data = _c.blob(saved, "saved")
        _c.check(lib.heed_state_load(self._c, data, len(data)))

    def read(self, name: str, out: Optional[Any] = None, *, axis: int = 0, begin: int = 0, size: int = 0) -> np.ndarray:
        """Reads a tensor, or `size` elements of an axis from `begin` on; the whole axis if size is 0. The shape is known for states made
        with Graph.state; for others, such as the caches of heed.nn, pass an array `out` of the right size."""
        c_name = encoded(name, "name")
        if out is None:
            port = self._port(name)
            shape = [int(n) for n in port.shape]  # type: ignore[arg-type]
            if _c.whole(size, "size"):
                shape[_c.int32(axis, "axis")] = size
            out = np.empty(shape, numpy_dtype(port.dtype))
        elif name in self._ports:
            out = as_output(out, self._ports[name].dtype, np.shape(out), f"out, for '{name}',")
        else:
            out = as_output(out, "f16" if getattr(out, "dtype", None) == np.float16 else "f32", np.shape(out), f"out, for '{name}',")
        data = memory(out, True)
        _c.check(lib.heed_state_read(self._c, c_name, _part(axis, begin, size), data, out.nbytes))
        return out

    def write(self, name: str, values: Any, *, axis: int = 0, begin: int = 0, size: int = 0) -> None:
        """Writes a tensor, or a part of it, with the arguments of read."""
        c_name = encoded(name, "name")
        array = as_input(values, self._ports[name].dtype if name in self._ports else "f32", f"values of state '{name}'")
        _c.check(lib.heed_state_write(self._c, c_name, _part(axis, begin, size), memory(array), array.nbytes))

    def _port(self, name: str) -> Port:
        if name not in self._ports:
            raise Error(Status.NOT_FOUND, f"no state '{name}' was made by Graph.state; give an array to read it into")
        return self._ports[name]


def _part(axis: int, begin: int, size: int) -> Any:
    return ffi.new("heed_state_part *", dict(axis=_c.int32(axis, "axis"), begin=_c.whole(begin, "begin"), count=_c.whole(size, "size")))
