"""Devices, and weights that are resident there."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Union

import numpy as np

from . import _c
from ._arrays import as_array, dtype_of, memory
from ._c import Error, Keep, Status, encoded, ffi, lib, pack, text
from .files import Checkpoint
from .graph import Graph
from .plan import Plan

_KINDS = ("cpu", "discrete_gpu", "integrated_gpu", "virtual_gpu", "software_gpu", "other_gpu")


class DeviceInfo(NamedTuple):
    kind: str  # "cpu", "discrete_gpu", "integrated_gpu", "virtual_gpu", "software_gpu", "other_gpu"
    word: str  # one word, unique on this machine: "cpu", "vulkan:llvmpipe"
    name: str
    driver: str
    api: str  # "Vulkan 1.3.230"; "" for the CPU
    usable: bool
    reason: str  # lines: why it is not usable, or what heed uses of it, what not, and why
    limits: Dict[str, str]


def _info(function: Any, *arguments: Any) -> DeviceInfo:
    c = _c.filled("heed_device_info", function, *arguments)
    limits = {text(c.limits[2 * i]): text(c.limits[2 * i + 1]) for i in range(c.limit_count)}
    return DeviceInfo(_KINDS[c.kind], text(c.word), text(c.name), text(c.driver), text(c.api), bool(c.usable), text(c.reason), limits)


def devices(*, vulkan_loader: Optional[str] = None) -> List[DeviceInfo]:
    """Every device of this machine, the CPU last. Without Vulkan, that is the CPU alone."""
    keep = Keep()
    found = _c.make(lib.heed_device_list_create, pack("heed_device_options", dict(vulkan_loader=vulkan_loader, log=_c.log(keep)), keep))
    try:
        return [_info(lib.heed_device_list_get_info, found, i) for i in range(lib.heed_device_list_count(found))]
    finally:
        lib.heed_device_list_destroy(found)


class Weights(_c.Handle):
    """Named tensors on one device. Plans keep those that they use."""

    _kind = "weights"

    def __init__(self, pointer: Any) -> None:
        self._own(pointer)

    @property
    def bytes(self) -> int:
        """Memory of the tensors now; on the CPU it changes as plans are compiled, which pack what they read."""
        return _c.number(lib.heed_weights_bytes, self._c)


class Device(_c.Handle):
    """Where graphs run.

        device = heed.Device()         # the best GPU that passes its self-test, else the CPU
        device = heed.Device("cpu")    # or a part of a name, or a number of devices()

    Calls are safe from several threads. heed's warnings go to the logger "heed".
    """

    _kind = "device"

    def __init__(self, select: str = "", *, threads: int = 0, cpu_instructions: Optional[str] = None,
                 vulkan_loader: Optional[str] = None, pipeline_cache: bytes = b"", self_test_results: bytes = b"",
                 validation: bool = False, debug_labels: bool = True, self_test: bool = True) -> None:
        keep = Keep()
        options = pack("heed_device_options", dict(
            select=select, log=_c.log(keep), threads=threads, cpu_instructions=cpu_instructions, vulkan_loader=vulkan_loader,
            validation=validation, debug_labels=debug_labels, self_test=self_test), keep)
        for name, blob in (("pipeline_cache", pipeline_cache), ("self_test_results", self_test_results)):
            if blob:
                setattr(options, name, ffi.from_buffer(blob))
                setattr(options, name + "_bytes", len(blob))
        self._own(_c.make(lib.heed_device_open, options))

    @property
    def info(self) -> DeviceInfo:
        return _info(lib.heed_device_get_info, self._c)

    @property
    def scratch_bytes(self) -> int:
        """CPU device: the scratch that its plans share now."""
        return _c.number(lib.heed_device_scratch_bytes, self._c)

    def pipeline_cache(self) -> bytes:
        """The driver's pipeline cache, for `pipeline_cache` of the next start. Empty on the CPU."""
        return _c.take_blob(lib.heed_device_pipeline_cache, self._c)

    def upload(self, tensors: Union[Mapping[str, Any], Checkpoint], *, dtype: Optional[str] = None,
               only_matrices: bool = False) -> Weights:
        """Copies named tensors to the device, all or none: a Checkpoint, or a dict of arrays such as the state dict of a module of
        PyTorch, which need not be imported. Arrays of int64 are left out. With `dtype` ("f32", "f16", "bf16"), floating-point and
        quantized tensors are converted; with only_matrices those of rank 2 and more, and others become f32."""
        keep = Keep()
        options = pack("heed_upload_options", dict(dtype=dtype, only_matrices=only_matrices), keep)
        if isinstance(tensors, Checkpoint):
            return Weights(_c.make(lib.heed_checkpoint_upload, tensors._c, self._c, options))
        arrays = [entry for name, value in tensors.items() for entry in _host_tensor(name, value, keep)]
        return Weights(_c.make(lib.heed_device_upload, self._c, ffi.new("heed_host_tensor[]", arrays), len(arrays), options))

    def compile(self, graph: Graph, weights: Optional[Weights] = None, *, training: bool = False, timestamps: bool = False,
                memory_limit: Optional[int] = None, pipelines: str = "now", round_rows: bool = False,
                progress: bool = False, reproducible: bool = False) -> Plan:
        """Checks the graph, chooses kernels, lays out memory and makes pipelines. include/heed/device.hpp describes the options
        (CompileOptions). The graph may be changed afterwards."""
        options = pack("heed_compile_options", dict(
            training=training, timestamps=timestamps, memory_limit=memory_limit, pipelines=pipelines, round_rows=round_rows,
            progress=progress, reproducible=reproducible), Keep())
        if not isinstance(graph, Graph):
            raise TypeError(f"graph must be a Graph, not {type(graph).__name__}")
        if weights is not None and not isinstance(weights, Weights):
            raise TypeError(f"weights must be what upload returned, not {type(weights).__name__}")
        pointer = _c.make(lib.heed_device_compile, self._c, graph._c, ffi.NULL if weights is None else weights._c, options)
        return Plan(pointer, graph)

    def __repr__(self) -> str:
        return f"Device({self.info.word!r})"


def _host_tensor(name: str, value: Any, keep: Keep) -> List[Any]:
    """The tensor as heed_host_tensor, or nothing for int64."""
    array, is_bf16 = as_array(value, f"tensor '{name}'")
    if array.dtype == np.int64:
        return []
    dtype = dtype_of(array, "bf16" if is_bf16 else None)
    if dtype is None:
        raise Error(Status.DTYPE_MISMATCH, f"tensor '{name}' is an array of {array.dtype}, which heed cannot hold")
    array = np.ascontiguousarray(array).reshape(array.shape)
    parts = (ffi.new("char[]", encoded(name, "name")), ffi.new("int64_t[]", list(array.shape)), memory(array))
    keep.extend(parts)
    return [(parts[0], parts[1], array.ndim, parts[2], array.nbytes, _c.DTYPES[dtype], 0)]
