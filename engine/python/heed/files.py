"""Checkpoints: named tensors in safetensors and GGUF files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Dict, Iterator, List, Union

import numpy as np

from . import _c
from ._c import Error, Keep, Status, encoded, ffi, lib, text

__all__ = ["Checkpoint"]

_NUMPY = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16, "I8": np.int8, "I16": np.int16, "I32": np.int32,
          "I64": np.int64, "U8": np.uint8, "BOOL": np.bool_}


class _File(_c.Handle):
    _kind = "checkpoint"
    _memory: Any = None  # set if the bytes are not a file's

    def __init__(self, function: Any, *arguments: Any) -> None:
        self._own(_c.make(function, *arguments, _c.log(Keep())))


class _Bytes:
    """The bytes of a tensor in a mapped file, which stays open as long as arrays point into it."""

    def __init__(self, file: _File, tensor: Any, dtype: Any, shape: Any) -> None:
        self._file = file
        self.__array_interface__ = {"version": 3, "data": (int(ffi.cast("uintptr_t", tensor.data)), True), "shape": shape,
                                    "typestr": np.dtype(dtype).str}


class Checkpoint(_c.Typed, Mapping):  # type: ignore[type-arg]
    """The tensors of a .safetensors or GGUF file, of a *.index.json, or of a folder with model.safetensors or an index, by name.

        checkpoint = heed.Checkpoint("model.safetensors")
        weights = device.upload(checkpoint)
        checkpoint["embed.weight"]      # numpy, read-only, in the mapped file: no copy
        checkpoint.metadata["general.architecture"]

    A bf16 tensor is a uint16 array of its bits, a quantized tensor an array of its bytes. Everything but the tensors' values is checked.
    The file must not be shortened while it is in use."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self._take(_File(lib.heed_checkpoint_open, _c.path(path, "path")))

    @classmethod
    def parse(cls, data: Any, name: str = "the bytes") -> "Checkpoint":
        """Reads the bytes of a .safetensors or GGUF file, which nobody may change meanwhile; `name` is for messages."""
        checkpoint, memory = cls.__new__(cls), _c.blob(data, "data")
        checkpoint._take(_File(lib.heed_checkpoint_parse, memory, len(memory), encoded(name, "name")))
        checkpoint._file._memory = memory
        return checkpoint

    def _take(self, file: _File) -> None:
        self._file = file
        self._names = [text(self._tensor(i).name) for i in range(lib.heed_checkpoint_count(self._c))]

    @property
    def _c(self) -> Any:
        return self._file._c

    def _tensor(self, index: int) -> Any:
        return _c.filled("heed_file_tensor", lib.heed_checkpoint_tensor, self._c, index)

    def _find(self, name: str) -> Any:
        try:
            return _c.filled("heed_file_tensor", lib.heed_checkpoint_find, self._c, encoded(name, "name"))
        except Error as error:
            if error.status == Status.NOT_FOUND:
                raise KeyError(name) from None
            raise

    def __getitem__(self, name: str) -> np.ndarray:
        tensor = self._find(name)
        kind = text(tensor.type)
        shape = tuple(tensor.shape[0:tensor.rank]) if kind in _NUMPY else (tensor.bytes,)
        if tensor.bytes == 0:
            return np.empty(shape, _NUMPY.get(kind, np.uint8))
        return np.asarray(_Bytes(self._file, tensor, _NUMPY.get(kind, np.uint8), shape))

    def type(self, name: str) -> str:
        """The tensor's type as the file spells it: "F32", "BOOL", "Q4_K", ..."""
        return text(self._find(name).type)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def bytes(self) -> int:
        """The size of all tensors, in bytes."""
        return _c.number(lib.heed_checkpoint_bytes, self._c)

    @property
    def metadata(self) -> Dict[str, Any]:
        """The metadata texts of a safetensors file, or the values of a GGUF file."""
        found = {}
        for i in range(lib.heed_checkpoint_meta_count(self._c)):
            meta = _c.filled("heed_meta", lib.heed_checkpoint_meta, self._c, i)
            found[text(meta.name)] = self._value(meta)
        return found

    def _value(self, meta: Any) -> Any:
        if meta.kind == 5:
            return self._elements(meta)
        return {1: lambda: meta.integer, 2: lambda: meta.number, 3: lambda: bool(meta.integer),
                4: lambda: bytes(ffi.buffer(meta.text, meta.text_bytes)).decode("utf-8", "replace")}.get(meta.kind, lambda: None)()

    def _elements(self, meta: Any) -> List[Any]:
        function, ctype = {4: (lib.heed_checkpoint_meta_texts, "const char *[]"),
                           2: (lib.heed_checkpoint_meta_numbers, "float[]")}.get(
            meta.element_kind, (lib.heed_checkpoint_meta_integers, "int64_t[]"))
        values, count = ffi.new(ctype, meta.count), ffi.new("size_t *")
        _c.check(function(self._c, meta.name, values, meta.count, count))
        elements = list(values[0:count[0]])
        return [text(e) for e in elements] if meta.element_kind == 4 else elements
