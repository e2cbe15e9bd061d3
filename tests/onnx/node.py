"""A node of an ONNX case, and the graph of heed that expresses it."""

import numpy as np

# Types by ONNX's numbers and by numpy's names. A bool is a u8 of 0 or 1.
TYPES = {1: "f32", 10: "f16", 16: "bf16", 6: "i32", 2: "u8", 9: "bool", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
         "int32": "i32", "uint8": "u8", "bool": "bool"}


class No(Exception):
    """Why a case cannot be expressed, in one word."""


class Node:
    """A node's graph, inputs and attributes. Inputs that are parameters, such as axes, are read as values; others become inputs of the
    graph, of type i32 where ONNX has indices of i64."""

    def __init__(self, graph, names, arrays, attributes, output_count):
        self.g, self.arrays, self.attributes = graph, dict(enumerate(arrays)), attributes
        self.names, self.output_count, self.given, self.tensors = names, output_count, {}, {}

    def has(self, i):
        return self.arrays.get(i) is not None

    def value(self, i, default=None):
        return self.arrays[i] if self.has(i) else default

    def numbers(self, i, default=None):
        return [int(v) for v in self.arrays[i].reshape(-1)] if self.has(i) else default

    def attribute(self, name, default=None):
        return self.attributes.get(name, default)

    def allow(self, **defaults):
        """Attributes that may only be as they are by default."""
        if any(self.attribute(name, value) != value for name, value in defaults.items()):
            raise No("attribute")

    def x(self, i, index=False):
        """An input of the graph; None if the node has not got it."""
        if not self.has(i):
            return None
        if i not in self.tensors:
            array = self.arrays[i].astype(np.int32) if index else self.arrays[i]
            dtype = TYPES.get(array.dtype.name)
            if dtype is None:
                raise No("type")
            if array.ndim > 6:
                raise No("rank")
            if 0 in array.shape:
                raise No("shape")
            self.given[f"x{i}"] = np.ascontiguousarray(array).reshape(array.shape or (1,))
            self.tensors[i] = self.g.input(f"x{i}", array.shape or (1,), "u8" if dtype == "bool" else dtype)
        return self.tensors[i]

    def all(self):
        return [self.x(i) for i in range(len(self.arrays))]

    def shape(self, i=0):
        return tuple(self.arrays[i].shape)

    def constant(self, array):
        return self.g.constant(f"constant {len(self.tensors)} {array.tobytes()[:64]!r}", array)

    def axis(self, default, rank=None, name="axis"):
        rank = len(self.shape()) if rank is None else rank
        return self.attribute(name, default) % rank
