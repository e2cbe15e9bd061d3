"""Gradients, and optimizers whose weights are stored in a State.

    optimizer = heed.train.Optimizer("adamw")
    optimizer.add_weights(g)                                   # all weights that the model in g has named
    settings = optimizer.settings(g)                           # an input, for optimizer.words()
    gradients = heed.train.gradients(loss, optimizer.weights(g))
    g.output("step", optimizer.step(gradients, settings))
    plan = device.compile(g, training=True)
    state = plan.make_state()
    optimizer.load(state, heed.train.initial_weights(g))       # or a module's state_dict(), or a Checkpoint of save()
    for x, labels in batches:
        result = plan.run({"x": x, "labels": labels, "optimizer.settings": optimizer.words(rate=3e-4)}, state=state)
    optimizer.save(state, "model.safetensors")

The same gradients give the same bits at every run on a device. include/heed/train.hpp, optimizer.hpp and initial.hpp have the formulas
and papers.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _c, _options, _words
from ._arrays import host_tensors
from ._c import Keep, encoded, ffi, lib, options_of, pack, text
from ._options import GradientOptions, InitialOptions, OptimizerOptions, StepNumbers
from .custom import call_gradients
from .files import Checkpoint
from .graph import Graph
from .state import State
from .tensor import Port, Tensor, graph_of

__all__ = ["InitialOptions", "LossScale", "Optimizer", "Parameter", "StepReport", "gradients", "initial_values", "initial_weights"]

# --- Gradients -----------------------------------------------------------------------------------------------------------

Upstream = Tuple[Tensor, Optional[Tensor]]


def gradients(outputs: Union[Tensor, Sequence[Upstream]], of: Sequence[Tensor], *, remat: Optional[str] = None) -> List[Tensor]:
    """The gradient of a loss, which is one number, with respect to each tensor of `of`: a tensor of its shape and type. For several
    outputs, give (output, gradient) pairs: the result is the gradient of the sum of output * gradient; None for a gradient means 1.

    `of` may be any floating-point tensors of the graph: weights, inputs, constants, states, and intermediate results. Those on which no
    output depends get zeros. The gradient of a dropout uses the same random bits. A pass of Graph.custom needs its `gradient`.
    Activations of layers whose labels begin with "REMAT.i", for a number i, are recomputed instead of kept."""
    pairs = [(outputs, None)] if isinstance(outputs, Tensor) else _c.listed(outputs, "outputs")
    of = _c.listed(of, "of")
    if not pairs or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise ValueError("outputs must be a loss, or pairs of an output and its gradient")
    g = graph_of(pairs[0][0], "outputs[0]")
    c_outputs = ffi.new("heed_upstream[]", [(g._id_of(y, f"outputs[{i}]"), g._tensor_id(d, f"the gradient of outputs[{i}]")) for i, (y, d) in enumerate(pairs)])
    c_of = ffi.new("heed_tensor[]", [g._id_of(t, f"of[{i}]") for i, t in enumerate(of)])
    found = ffi.new("heed_tensor[]", len(c_of))
    keep = Keep()
    options = pack(GradientOptions(remat=remat), keep)
    g._check(call_gradients(g, lambda: lib.heed_train_gradients_with(g._c, c_outputs, len(c_outputs), c_of, len(c_of), options, found)))
    return [g._new(t) for t in found]


# --- Numbers of a step ---------------------------------------------------------------------------------------------------


class StepReport(NamedTuple):
    """The output of Optimizer.step: StepReport(*result["step"]).

    - factor: the factor that was applied to the gradients.
    - taken: 1: the step was taken; 0: `apply` was False; -1: it was skipped, since the norm is infinite or NaN.
    - norm: of the gradients, before clipping.
    - steps: steps taken so far, including this one."""

    factor: float
    taken: float
    norm: float
    steps: float


class LossScale:
    """Dynamic loss scale for gradients that pass through f16: it is halved at a skipped step, and doubled after `grow_after` consecutive
    steps that were taken."""

    def __init__(self, scale: float = 65536.0, *, least: float = 1.0, most: float = 16777216.0, grow_after: int = 2000) -> None:
        if not (0 < least <= scale <= most) or grow_after < 1:
            raise ValueError(f"a scale of {scale}, from {least} to {most}, that grows after {grow_after} steps makes no sense")
        self._struct = pack(_options.LossScale(scale=scale, least=least, most=most, grow_after=grow_after), Keep())

    @property
    def scale(self) -> float:
        """The value for StepNumbers.loss_scale."""
        return float(self._struct.scale)

    def update(self, report: Sequence[float]) -> None:
        """Adjusts the scale to the step's output."""
        _c.check(lib.heed_loss_scale_update(self._struct, ffi.new("heed_step_report *", [float(x) for x in report])))


# --- Initial values ------------------------------------------------------------------------------------------------------


def initial_values(shape: Sequence[int], kind: str = "normal", **fields: Any) -> np.ndarray:
    """Initial values of a weight of this shape, f32, with the same bits on every machine. `kind` is "zeros", "ones", "normal", or, for a
    weight [out, in, ...], "xavier_uniform", "xavier_normal", "kaiming_uniform" or "kaiming_normal". Keywords are the other fields of
    InitialOptions."""
    sizes = [_c.whole(size, f"shape[{i}]") for i, size in enumerate(_c.listed(shape, "shape"))]
    options, = options_of({"kind": kind, **fields}, options=(InitialOptions, None))
    values = np.empty([max(size, 0) for size in sizes], np.float32)
    _c.check(lib.heed_initial_values(pack(options, Keep()), ffi.new("int64_t[]", sizes), len(sizes),
                                     ffi.from_buffer("float[]", values.reshape(-1), require_writable=True), values.size))
    return values


def initial_weights(graph: Graph, matrices: str = "xavier_uniform", *, gain: float = 1.0, seed: int = 0) -> Dict[str, np.ndarray]:
    """Initial values of all f32 weights that a graph declares, by name. Weights of two axes and more get `matrices`, a kind of
    initial_values, with this gain and a separate random stream each. Others are ones if their name ends in "weight", like norm factors,
    and else zeros."""
    _c.word(_words.INITIAL, matrices, "matrices")
    pack(InitialOptions(gain=gain, seed=seed), Keep())  # reports mistakes even if no weight needs these
    weights = [(name, port.shape) for name, port in _c.checked(graph, Graph, "graph").weights().items() if port.dtype == "f32"]
    kinds = [matrices if len(shape) > 1 else "ones" if name.endswith("weight") else "zeros" for name, shape in weights]
    return {name: initial_values(shape, kind, gain=gain, seed=seed, stream=i) for i, ((name, shape), kind) in enumerate(zip(weights, kinds))}


# --- Optimizers ----------------------------------------------------------------------------------------------------------


class Parameter(NamedTuple):
    """A weight of an optimizer.

    - name: as in the graph.
    - shape: its sizes.
    - group: the group whose settings apply to it."""

    name: str
    shape: Tuple[int, ...]
    group: int


class Optimizer(_c.Handle):
    """Updates weights that are stored in a State, which other graphs can read, too (keep). `rule` is "adamw", as torch.optim.AdamW, or
    "sgd", as torch.optim.SGD. With `accumulate`, gradients of several runs are added up, until a run with StepNumbers.apply takes the
    step. One thread at a time may use it."""

    _kind = "optimizer"

    def __init__(self, rule: str = "adamw", **fields: Any) -> None:
        """Keywords are the fields of OptimizerOptions."""
        options, = options_of(fields, options=(OptimizerOptions, OptimizerOptions(rule=rule)))
        self._rule, self.prefix = _c.word(_words.UPDATE_RULE, options.rule, "rule"), options.prefix
        keep = Keep()
        self._own(_c.make(lib.heed_optimizer_create, pack(options, keep)))

    # Weights.

    def add(self, name: str, shape: Sequence[int], group: int = 0) -> None:
        """Declares a weight, before any other call. Groups are 0 to 7."""
        sizes = [_c.whole(size, f"shape[{i}]") for i, size in enumerate(_c.listed(shape, "shape"))]
        _c.check(lib.heed_optimizer_add(self._c, encoded(name, "name"), ffi.new("int64_t[]", sizes), len(sizes), _c.int32(group, "group")))

    def add_weights(self, g: Graph) -> None:
        """Declares all f32 weights that the graph has so far: those of rank 2 and more in group 0, others, which are commonly not decayed,
        in group 1."""
        _c.check(lib.heed_optimizer_add_weights(self._c, Graph._c_of(g, "g")))

    @property
    def parameters(self) -> List[Parameter]:
        """The declared weights, in order."""
        found = []
        for i in range(lib.heed_optimizer_count(self._c)):
            p = _c.filled("heed_parameter", lib.heed_optimizer_parameter, self._c, i)
            found.append(Parameter(text(p.name), tuple(p.shape[0:p.rank]), p.group))
        return found

    @property
    def groups(self) -> int:
        """The largest group plus 1: the number of rows of the settings."""
        return int(lib.heed_optimizer_group_count(self._c))

    # Calls that add to a graph.

    def keep(self, g: Graph) -> None:
        """Rebinds each declared weight in the graph to a view of its state, for operations that were already built, too. step() also does
        this."""
        c_graph = Graph._c_of(g, "g")
        g._check(lib.heed_optimizer_keep(self._c, c_graph))

    def weights(self, g: Graph) -> List[Tensor]:
        """The declared weights in the graph, which must have all of them."""
        found, count = ffi.new("heed_tensor[]", int(lib.heed_optimizer_count(self._c))), ffi.new("size_t *")
        c_graph = Graph._c_of(g, "g")
        g._check(lib.heed_optimizer_weights(self._c, c_graph, found, len(found), count))
        return [g._new(t) for t in found]

    def settings(self, g: Graph) -> Tensor:
        """The input PREFIX.settings, whose values words() makes."""
        c_graph = Graph._c_of(g, "g")
        settings = g._new(lib.heed_optimizer_settings(self._c, c_graph))
        g._inputs[self.prefix + ".settings"] = Port(settings.shape, "f32")
        return settings

    def loss_scale(self, settings: Tensor) -> Tensor:
        """f32 [1], to multiply the loss by."""
        g = graph_of(settings, "settings")
        return g._new(lib.heed_optimizer_loss_scale(self._c, g._c, settings._id))

    def step(self, gradients: Sequence[Tensor], settings: Tensor) -> Tensor:
        """Adds the optimizer step: `gradients` are those of parameters, each of its weight's shape. The step runs after everything that
        reads the weights. Returns a StepReport, f32 [4]."""
        g = graph_of(settings, "settings")
        ids = ffi.new("heed_tensor[]", [g._tensor_id(t, "a gradient") for t in _c.listed(gradients, "gradients")])
        return g._new(lib.heed_optimizer_step(self._c, g._c, ids, len(ids), settings._id))

    # Runs.

    def words(self, numbers: Union[StepNumbers, Sequence[StepNumbers], None] = None, **fields: Any) -> np.ndarray:
        """The values of the input PREFIX.settings: the numbers of each group, or of all groups."""
        groups = self.groups
        if numbers is None:
            numbers = StepNumbers(**fields)
        elif fields:
            raise TypeError("give StepNumbers or their fields, not both")
        rows = [numbers] * groups if isinstance(numbers, StepNumbers) else _c.listed(numbers, "numbers")
        if len(rows) != groups:
            raise ValueError(f"numbers of {len(rows)} groups, the optimizer has {groups}")
        words = np.empty((groups, 16), np.float32)
        for row, of_group in zip(words, rows):
            _write_words(self._rule, of_group, row)
        return words

    def load(self, state: State, tensors: Union[Mapping[str, Any], Checkpoint]) -> None:
        """Loads weights from arrays by their names, such as the state dict of a PyTorch module, or from a Checkpoint, and moments and the
        count of steps by the names that save() gives; missing ones become zero. Other arrays are ignored. Loads everything, or raises an
        Error."""
        if isinstance(tensors, Checkpoint):
            _c.check(lib.heed_optimizer_load_checkpoint(self._c, State._c_of(state, "state"), tensors._c))
            return
        keep = Keep()
        arrays = host_tensors(tensors, keep)
        _c.check(lib.heed_optimizer_load(self._c, State._c_of(state, "state"), arrays, len(arrays)))

    def save(self, state: State, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a file of safetensors: weights by their names, moments as PREFIX.NAME.exp_avg and PREFIX.NAME.exp_avg_sq ("sgd":
        PREFIX.NAME.momentum_buffer), and the count of steps as PREFIX.step. The file is written as a whole or not at all."""
        _c.check(lib.heed_optimizer_save(self._c, State._c_of(state, "state"), _c.path(path, "path")))

    def read(self, state: State, name: str) -> np.ndarray:
        """Reads one weight from the State."""
        shape = next((p.shape for p in self.parameters if p.name == name), (0,))
        values = np.empty(shape, np.float32)
        _c.check(lib.heed_optimizer_read(self._c, State._c_of(state, "state"), encoded(name, "name"),
                                         ffi.from_buffer("float[]", values.reshape(-1), require_writable=True), values.size))
        return values


def _write_words(rule: int, numbers: StepNumbers, row: np.ndarray) -> None:
    _c.check(lib.heed_step_words(rule, pack(numbers, Keep()), ffi.from_buffer("float[16]", row, require_writable=True)))
