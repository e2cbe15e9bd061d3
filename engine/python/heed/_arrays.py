"""Arrays of the host as inputs and outputs: numpy, PyTorch tensors, and objects with __array__, DLPack or a buffer."""

from __future__ import annotations

import sys
from typing import Any, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import _words
from ._c import Error, Keep, Status, encoded, ffi

# By numpy's names. ml_dtypes calls its type bfloat16; numpy has no such type, and uint16 holds the bits.
_OF_NUMPY = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int32": "i32", "uint8": "u8", "bool": "u8"}
_TO_NUMPY = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "i32": np.int32, "u8": np.uint8}


def numpy_dtype(dtype: str) -> Any:
    return np.dtype(_TO_NUMPY[dtype])


def dtype_of(array: np.ndarray, wanted: Optional[str] = None) -> Optional[str]:
    """heed's name of the array's type; None if heed has no such type. Arrays with another byte order have no such type."""
    if not array.dtype.isnative:
        return None
    if array.dtype.name == "uint16" and wanted == "bf16":
        return "bf16"
    return _OF_NUMPY.get(array.dtype.name)


def _of_torch(value: Any) -> np.ndarray:
    """The memory of a PyTorch tensor on the CPU; a copy if it is on another device."""
    tensor = value.detach().cpu()
    if str(tensor.dtype) == "torch.bfloat16":
        return tensor.view(sys.modules["torch"].int16).numpy().view(np.uint16)
    return tensor.numpy()


def _is_torch(value: Any) -> bool:
    return hasattr(value, "detach") and hasattr(value, "cpu")


def as_array(value: Any, what: str) -> Tuple[np.ndarray, bool]:
    """The array, without a copy if it is in host memory, and whether it holds bf16 as uint16."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{what} is a masked array: its filled() says what stands at hidden places")
    if isinstance(value, np.ndarray):
        return value, False
    if _is_torch(value):
        return _of_torch(value), str(value.dtype) == "torch.bfloat16"
    if not hasattr(value, "__array__") and not hasattr(value, "__array_interface__") and hasattr(value, "__dlpack__"):
        if value.__dlpack_device__()[0] != 1:
            raise Error(Status.INVALID_ARGUMENT, f"{what} is not in the host's memory; copy it there first")
        return np.from_dlpack(value), False
    array = np.asarray(value)
    if array.dtype.hasobject:
        raise TypeError(f"{what} is {type(value).__name__}, must be an array of numbers")
    return array, False


def of_list(value: Any, dtype: str, what: str) -> np.ndarray:
    """Lists of numbers, which have no type of their own, as an array of this type."""
    found = np.asarray(value)
    with np.errstate(invalid="ignore"):  # NaN and infinity are no integers, which is checked below
        array = found.astype(numpy_dtype(dtype))
    if array.dtype.kind != "f" and not (array == found).all():
        raise Error(Status.DTYPE_MISMATCH, f"{what} holds numbers that {dtype} has not")
    return array


def as_input(value: Any, dtype: str, what: str) -> np.ndarray:
    """A contiguous array of this type; a copy only if the array is not contiguous. Lists of numbers get the type."""
    if isinstance(value, (list, tuple, int, float)) and dtype != "bf16":
        array = of_list(value, dtype, what)
    else:
        array, _ = as_array(value, what)
    if dtype_of(array, dtype) != dtype:
        raise Error(Status.DTYPE_MISMATCH, f"{what} is an array of {array.dtype}, must be {dtype} ({numpy_dtype(dtype)})")
    return np.ascontiguousarray(array)  # this makes [1] of a scalar, since heed has no rank 0


def as_output(value: Any, dtype: str, shape: Sequence[int], what: str) -> np.ndarray:
    """The array itself, to be written."""
    if _is_torch(value):
        if value.device.type != "cpu":
            raise Error(Status.INVALID_ARGUMENT, f"{what} is on the device {value.device}, must be in the host's memory")
        array = _of_torch(value)
    elif isinstance(value, np.ndarray):
        array = value
    else:
        try:
            array = np.asarray(memoryview(value))
        except TypeError:
            raise TypeError(f"{what} is {type(value).__name__}, must be an array that can be written") from None
    if dtype_of(array, dtype) != dtype:
        raise Error(Status.DTYPE_MISMATCH, f"{what} is an array of {array.dtype}, must be {dtype} ({numpy_dtype(dtype)})")
    check_shape(array, shape, what)
    if not array.flags.c_contiguous:
        raise Error(Status.INVALID_ARGUMENT, f"{what} is not contiguous in the order of C, so it cannot be written in place")
    if not array.flags.writeable:
        raise Error(Status.INVALID_ARGUMENT, f"{what} is read-only")
    return array


def check_shape(array: np.ndarray, shape: Sequence[int], what: str) -> None:
    if tuple(array.shape) != tuple(shape):
        raise Error(Status.SHAPE_MISMATCH, f"{what} has the shape {list(array.shape)}, must have {list(shape)}")


def memory(array: np.ndarray, writable: bool = False) -> Any:
    """A pointer to the array's bytes, which keeps them alive."""
    return ffi.from_buffer(array.reshape(-1).view(np.uint8), require_writable=writable)


def _host_tensor(name: str, value: Any, keep: Keep) -> List[Any]:
    """The tensor as heed_host_tensor; empty for int64."""
    array, is_bf16 = as_array(value, f"tensor '{name}'")
    if array.dtype == np.int64:
        return []
    dtype = dtype_of(array, "bf16" if is_bf16 else None)
    if dtype is None:
        raise Error(Status.DTYPE_MISMATCH, f"tensor '{name}' is an array of {array.dtype}, which heed cannot hold")
    array = np.ascontiguousarray(array)  # a scalar becomes [1]
    parts = (ffi.new("char[]", encoded(name, "name")), ffi.new("int64_t[]", list(array.shape)), memory(array))
    keep.extend(parts)
    return [(parts[0], parts[1], array.ndim, parts[2], array.nbytes, _words.DTYPE[dtype], 0)]


def host_tensors(tensors: Mapping[str, Any], keep: Keep) -> Any:
    """Named arrays as heed_host_tensor[]; those of int64 are skipped."""
    if not isinstance(tensors, Mapping):
        raise TypeError(f"tensors must be a dict of arrays, not {type(tensors).__name__}")
    return ffi.new("heed_host_tensor[]", [entry for name, value in tensors.items() for entry in _host_tensor(name, value, keep)])
