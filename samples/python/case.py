"""A golden file: the inputs and weights of an attention system with its results (tests/goldens/README.md), or with the gradients of
both (tests/goldens-gradients/README.md)."""

import pathlib

import numpy as np

import heed
from pytorch import torch

GOLDENS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "goldens"
GRADIENTS = GOLDENS.with_name("goldens-gradients")

INPUTS = {"x", "y", "q", "k", "v", "ids", "x_ids", "y_ids", "enc_out", "mask", "self_mask", "cross_mask", "pad_mask",
          "enc_pad_mask", "causal_mask", "attn_mask", "key_padding_mask"}


class Case:
    """One file. `return_weights` requests attention weights from the systems, and `extents` makes lengths extents with maxima above
    the file's."""

    def __init__(self, path, return_weights=False, extents=False):
        file = heed.Checkpoint(path)
        self.name = pathlib.Path(path).stem
        self.system = file.metadata["system"]
        self.arrays = {name: np.array(file[name]) for name in file}
        self.return_weights = return_weights
        self._metadata = file.metadata
        self._extents = extents
        self._letters = {}
        self.fed = {}  # the arrays of a run, by input name
        self.inputs = {}  # heed's tensors of these
        self.leaves = {}  # PyTorch's inputs and weights, by name; for a file of gradients these collect them

    # The file's contents.

    def __contains__(self, name):
        return name in self.arrays

    def number(self, name):
        return int(self._metadata[name])

    def real(self, name):
        return float(self._metadata[name])

    @property
    def expected(self):
        return {name: a for name, a in self.arrays.items() if name.startswith("expected")}

    @property
    def upstream(self):
        """The upstream gradients, by the names of the results."""
        given = {"expected" + name[len("grad_out"):].replace(".", "_", 1): a for name, a in self.arrays.items()
                 if name.startswith("grad_out")}
        assert given.keys() <= self.expected.keys()
        return given

    @property
    def gradients(self):
        """The gradients of inputs and weights, by their names."""
        return {name[len("grad."):]: a for name, a in self.arrays.items() if name.startswith("grad.")}

    @property
    def nan_rows(self):
        """[B, S_q], true for queries without visible keys: heed gives them zero weights, and PyTorch NaN. None if there are no such
        rows."""
        return self.arrays.get("nan_rows")

    @property
    def weights(self):
        """The state dict of the system."""
        return {name: a for name, a in self.arrays.items()
                if name not in INPUTS and name != "nan_rows" and not name.startswith(("expected", "grad.", "grad_out"))}

    # For heed.

    def input(self, g, name, axes, array=None):
        """The input `name` of the graph, whose axes are letters: b (batch), q and k (lengths), or any other for a constant size.
        None if the file has none of this name. A file may omit the outer axes of a mask."""
        if array is None:
            array = self.arrays.get(name)
        if array is None:
            return None
        return self.feed(g, name, [self._size(g, letter, size) for letter, size in zip(axes[-array.ndim:], array.shape)], array)

    def feed(self, g, name, shape, array):
        """An input of this shape, for which each run gets this array."""
        self.fed[name] = array
        self.inputs[name] = g.input(name, shape, {"float32": "f32", "int32": "i32"}.get(array.dtype.name, "u8"))
        return self.inputs[name]

    def _size(self, g, letter, size):
        known = self._letters.setdefault(letter, size)  # a size of 1 broadcasts
        if not self._extents or letter not in "bqk" or size != known:
            return size
        return g.extent({"b": "batch", "q": "queries", "k": "keys"}[letter], 2 * size + 1)

    # For PyTorch.

    def tensor(self, name):
        """A tensor of PyTorch, or None if the file has none of this name."""
        if name in self and name not in self.leaves:
            self.leaves[name] = torch.from_numpy(self.arrays[name]).requires_grad_(name in self.gradients)
        return self.leaves.get(name)

    def load(self, module):
        """The module, in eval mode and with the file's weights, which must be exactly its own."""
        module.load_state_dict({name: torch.from_numpy(a) for name, a in self.weights.items()})
        self.leaves.update(module.named_parameters())
        return module.eval()


def named(results, *names):
    """Results of a function that returns one tensor or several, by these names; unrequested ones are left out."""
    if not isinstance(results, tuple):
        results = (results,)
    return {name: tensor for name, tensor in zip(names, results) if tensor is not None}
