"""Devices, and weights that are stored there."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import _c, _words
from ._arrays import host_tensors
from ._c import Keep, ffi, lib, options_of, pack, text
from ._options import CompileOptions, DeviceOptions, UploadOptions
from .files import Checkpoint
from .graph import Graph
from .plan import Plan

__all__ = ["Device", "DeviceInfo", "KernelTest", "OperationBits", "SelfTestReport", "Tuned", "TuningReport", "Weights", "devices"]


class DeviceInfo(NamedTuple):
    """A device, and the features that heed uses.

    - kind: one of "cpu", "discrete_gpu", "integrated_gpu", "virtual_gpu", "software_gpu", "other_gpu".
    - word: one word, unique on this machine: "cpu", "vulkan:llvmpipe".
    - name: as the driver or the CPU reports it.
    - driver: name and version; "" for the CPU.
    - api: "Vulkan 1.3.230"; "" for the CPU.
    - usable: whether it meets heed's requirements.
    - reason: several lines: why it is not usable, or which features heed uses, which not, and why.
    - limits: the limits that heed uses, by name."""

    kind: str
    word: str
    name: str
    driver: str
    api: str
    usable: bool
    reason: str
    limits: Dict[str, str]


def _info(function: Any, *arguments: Any) -> DeviceInfo:
    c = _c.filled("heed_device_info", function, *arguments)
    limits = {text(c.limits[2 * i]): text(c.limits[2 * i + 1]) for i in range(c.limit_count)}
    return DeviceInfo(_c.word_of(_words.DEVICE_KIND, c.kind), text(c.word), text(c.name), text(c.driver), text(c.api), bool(c.usable), text(c.reason), limits)


def devices(*, vulkan_loader: Optional[str] = None) -> List[DeviceInfo]:
    """Every device of this machine, the CPU last. Without Vulkan, that is the CPU alone."""
    keep = Keep()
    options = pack(DeviceOptions(vulkan_loader=vulkan_loader), keep)
    options.log = _c.log(keep)
    found = _c.make(lib.heed_device_list_create, options)
    try:
        return [_info(lib.heed_device_list_get_info, found, i) for i in range(lib.heed_device_list_count(found))]
    finally:
        lib.heed_device_list_destroy(found)


class KernelTest(NamedTuple):
    """The result for one kernel.

    - kernel: its name.
    - verdict: one of "passed", "wrong", "failed" (refused, or the device was lost), "timed_out", "unused" (not run).
    - detail: what went wrong.
    - worst: the largest error of all runs, divided by the error that is allowed.
    - runs: number of runs with right results."""

    kernel: str
    verdict: str
    detail: str
    worst: float
    runs: int


class SelfTestReport(NamedTuple):
    """The results of Device.self_test. On the CPU there are no kernels.

    - passed: whether no kernel failed.
    - kernels: each with its verdict.
    - results: for `self_test_results` of the next start."""

    passed: bool
    kernels: List[KernelTest]
    results: bytes


class Tuned(NamedTuple):
    """The result for one size.

    - size: of a matmul [m, k] x [k, n]: m, n, k; of an attention: queries, keys, heads, head_size.
    - is_attention: True for an attention, False for a matmul.
    - dtype: type of the operands.
    - transpose_b: of a matmul: b lies in memory as [n, k].
    - usual: the kernel that estimates choose.
    - fastest: the same if nothing is clearly faster.
    - usual_ms: milliseconds of the usual kernel.
    - fastest_ms: milliseconds of the fastest one.
    - variants: how many kernels and tilings were timed."""

    size: Tuple[int, ...]
    is_attention: bool
    dtype: str
    transpose_b: bool
    usual: str
    fastest: str
    usual_ms: float
    fastest_ms: float
    variants: int


class TuningReport(NamedTuple):
    """The results of Device.tune. On the CPU there are no sizes.

    - tuned: the result for each size.
    - results: for Device.use_tuning."""

    tuned: List[Tuned]
    results: bytes


def _tuned(c: Any) -> Tuned:
    size = (c.queries, c.keys, c.heads, c.head_size) if c.is_attention else (c.m, c.n, c.k)
    return Tuned(size, bool(c.is_attention), _c.DTYPE_NAMES.get(c.dtype, "?"), bool(c.transpose_b), text(c.usual), text(c.fastest),
                 c.usual_ms, c.fastest_ms, c.variants)


class OperationBits(NamedTuple):
    """A fingerprint of an operation's results.

    - bits: a fingerprint of the operation's results on this device.
    - known: the fingerprint that every device must give in this version of heed."""

    bits: int
    known: int


class Weights(_c.Handle):
    """Named tensors on one device. Plans keep alive those that they use."""

    _kind = "weights"

    def __init__(self, pointer: Any) -> None:
        self._own(pointer)

    @property
    def bytes(self) -> int:
        """Current memory of the tensors, in bytes; on the CPU it changes as plans are compiled, which pack what they read."""
        return _c.number(lib.heed_weights_bytes, self._c)


class Device(_c.Handle):
    """Where graphs run.

        device = heed.Device()         # the best GPU that passes its self-test, else the CPU
        device = heed.Device("cpu")    # or a part of a name, or a number of devices()

    Calls are safe from several threads. heed's warnings go to the logger "heed".
    """

    _kind = "device"

    def __init__(self, select: str = "", *, pipeline_cache: bytes = b"", self_test_results: bytes = b"", **fields: Any) -> None:
        """Keywords are the fields of DeviceOptions, and results of pipeline_cache() and self_test() from an earlier start."""
        keep = Keep()
        given, = options_of(fields, options=(DeviceOptions, DeviceOptions(select=select)))
        options = pack(given, keep)
        options.log = _c.log(keep)
        for name, blob in (("pipeline_cache", pipeline_cache), ("self_test_results", self_test_results)):
            if blob:
                setattr(options, name, _c.blob(blob, name))
                setattr(options, name + "_bytes", len(blob))
        self._own(_c.make(lib.heed_device_open, options))

    @property
    def info(self) -> DeviceInfo:
        """The device's properties, and the features that heed uses."""
        return _info(lib.heed_device_get_info, self._c)

    @property
    def scratch_bytes(self) -> int:
        """CPU device: bytes of the scratch that its plans share now."""
        return _c.number(lib.heed_device_scratch_bytes, self._c)

    def pipeline_cache(self) -> bytes:
        """The driver's pipeline cache, for `pipeline_cache` of the next start. Empty on the CPU."""
        return _c.take_blob(lib.heed_device_pipeline_cache, self._c)

    def self_test(self, time_limit_ms: int = 0) -> "SelfTestReport":
        """Runs every kernel that heed would use here and compares the results with the CPU's, which takes seconds. Kernels that fail are no
        longer used. The limit is for one run of one kernel; 0: ten seconds on a GPU, a minute on a software driver. No other thread may
        compile on the device meanwhile."""
        report = _c.make(lib.heed_device_self_test, self._c, time_limit_ms)
        try:
            kernels = [_c.filled("heed_kernel_test", lib.heed_self_test_report_kernel, report, i)
                       for i in range(lib.heed_self_test_report_count(report))]
            return SelfTestReport(bool(lib.heed_self_test_report_passed(report)),
                                  [KernelTest(text(k.kernel), _c.word_of(_words.SELF_TEST_VERDICT, k.verdict), text(k.detail), k.worst, k.runs) for k in kernels],
                                  _c.take_blob(lib.heed_self_test_report_blob, report))
        finally:
            lib.heed_self_test_report_destroy(report)

    def tune(self, time_limit_ms: int = 0) -> "TuningReport":
        """Times the kernels for matmuls and attention, in at most about this many milliseconds (0: ten seconds). Plans that are compiled
        later use the fastest ones. No other thread may compile on the device meanwhile."""
        report = _c.make(lib.heed_device_tune, self._c, time_limit_ms)
        try:
            found = [_c.filled("heed_tuned", lib.heed_tuning_report_get, report, i) for i in range(lib.heed_tuning_report_count(report))]
            return TuningReport([_tuned(c) for c in found], _c.take_blob(lib.heed_tuning_report_blob, report))
        finally:
            lib.heed_tuning_report_destroy(report)

    def use_tuning(self, results: bytes) -> None:
        """Uses TuningReport.results of an earlier start with the same device, driver and version."""
        data = _c.blob(results, "results")
        _c.check(lib.heed_device_use_tuning(self._c, data, len(data)))

    def operation_bits(self) -> Dict[str, "OperationBits"]:
        """Runs every operation that reproducible plans may have, on fixed values, and gives a fingerprint of each by its name, which two
        machines can compare. Status.UNSUPPORTED: the device cannot promise the bits; the message says what it lacks."""
        report = _c.make(lib.heed_device_operation_bits, self._c)
        try:
            found = [_c.filled("heed_operation_bits", lib.heed_bits_report_get, report, i) for i in range(lib.heed_bits_report_count(report))]
            return {text(c.operation): OperationBits(c.bits, c.known) for c in found}
        finally:
            lib.heed_bits_report_destroy(report)

    def upload(self, tensors: Union[Mapping[str, Any], Checkpoint], options: Optional[UploadOptions] = None, **fields: Any) -> Weights:
        """Copies named tensors to the device, all or none: a Checkpoint, or a dict of arrays such as the state dict of a module of
        PyTorch, which need not be imported. Arrays of int64 are left out. With `dtype` ("f32", "f16", "bf16"), floating-point and
        quantized tensors are converted; with only_matrices those of rank 2 and more, and others become f32."""
        keep = Keep()
        options, = options_of(fields, options=(UploadOptions, options))
        c_options = pack(options, keep)
        if isinstance(tensors, Checkpoint):
            return Weights(_c.make(lib.heed_checkpoint_upload, tensors._c, self._c, c_options))
        arrays = host_tensors(tensors, keep)
        return Weights(_c.make(lib.heed_device_upload, self._c, arrays, len(arrays), c_options))

    def compile(self, graph: Graph, weights: Optional[Weights] = None, options: Optional[CompileOptions] = None, **fields: Any) -> Plan:
        """Checks the graph, chooses kernels, lays out memory and makes pipelines. Keywords are the fields of CompileOptions. The graph may
        be changed afterwards."""
        options, = options_of(fields, options=(CompileOptions, options))
        c_graph, c_weights = Graph._c_of(graph, "graph"), ffi.NULL if weights is None else Weights._c_of(weights, "weights")
        return Plan(_c.make(lib.heed_device_compile, self._c, c_graph, c_weights, pack(options, Keep())), graph)

    def __repr__(self) -> str:
        return f"Device({self.info.word!r})"
