"""onnxruntime, with its own fused operators (com.microsoft) where they are faster than the standard ones."""
import math
import sys

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from serve import *

MS = "com.microsoft"


class Model:
    def __init__(self):
        self.nodes, self.weights, self.inputs = [], [], {}

    def input(self, name, values):
        self.inputs[name] = values
        return name

    def weight(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.ascontiguousarray(values), name))
        return name

    def op(self, kind, inputs, domain="", **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], domain=domain, **attributes))
        return name

    def runner(self, result):
        described = [helper.make_tensor_value_info(name, TensorProto.FLOAT, values.shape)
                     for name, values in self.inputs.items()]
        graph = helper.make_graph(self.nodes, "work", described,
                                  [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)])
        model.ir_version = 8
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(sys.argv[1])
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        return lambda: session.run([result], self.inputs)[0]


def matmul(m, n, k, stored):
    if stored != "f32":
        return None
    model = Model()
    x = model.input("x", tensor(INPUT, (int(m), int(k)), INPUT_SIZE))
    return model.runner(model.op("MatMul", [x, model.weight(tensor(QKV, (int(n), int(k)), WEIGHT_SIZE).T)]))


def attention(tokens, kind, stored):
    if stored != "f32":
        return None
    model, shape = Model(), (1, HEADS, int(tokens), HEAD)
    names = [model.input(name, tensor(INPUT + i, shape, INPUT_SIZE)) for i, name in enumerate("qkv")]
    if kind == "causal":
        # The fused operator expects [batch, tokens, width].
        for name in names:
            model.inputs[name] = model.inputs[name].transpose(0, 2, 1, 3).reshape(1, -1, WIDTH).copy()
        run = model.runner(model.op("MultiHeadAttention", names, MS, num_heads=HEADS, unidirectional=1))
        return lambda: run().reshape(1, -1, HEADS, HEAD).transpose(0, 2, 1, 3)
    key = model.op("Transpose", [names[1]], perm=[0, 1, 3, 2])
    query = model.op("Mul", [names[0], model.weight(numpy.float32(1 / math.sqrt(HEAD)))])
    weights = model.op("Softmax", [model.op("MatMul", [query, key])], axis=-1)
    return model.runner(model.op("MatMul", [weights, names[2]]))


def norm(model, x, other, bias):
    ones, zeros = (model.weight(numpy.full(WIDTH, v, numpy.float32)) for v in (1, 0))
    return model.op("SkipLayerNormalization", [other, x, ones, zeros, bias], MS, epsilon=1e-5)


def feed_forward(model, y, up, up_bias, down, down_bias):
    wide = model.op("BiasGelu", [model.op("MatMul", [y, model.weight(up.T)]), model.weight(up_bias)], MS)
    return norm(model, model.op("MatMul", [wide, model.weight(down.T)]), y, model.weight(down_bias))


def encoder(batch, tokens, stored):
    if stored != "f32":
        return None
    model = Model()
    y = model.input("x", tensor(INPUT, (int(batch), int(tokens), WIDTH), INPUT_SIZE))
    for i in range(LAYERS):
        qkv, qkv_bias, out, out_bias, *rest = layer(i)
        mixed = model.op("Attention", [y, model.weight(qkv.T), model.weight(qkv_bias)], MS, num_heads=HEADS)
        y = norm(model, model.op("MatMul", [mixed, model.weight(out.T)]), y, model.weight(out_bias))
        y = feed_forward(model, y, *rest)
    return model.runner(y)


def decode(keys, stored):
    if stored != "f32":
        return None
    model = Model()
    y = model.input("x", tensor(INPUT, (1, 1, WIDTH), INPUT_SIZE))
    first, last, axis = (model.weight(numpy.array([v], numpy.int64)) for v in (0, WIDTH, 2))
    split = model.weight(numpy.array([1, HEADS, 1, HEAD], numpy.int64))
    joined = model.weight(numpy.array([1, 1, WIDTH], numpy.int64))
    for i in range(LAYERS):
        qkv, qkv_bias, out, out_bias, *rest = layer(i)
        key = model.input(f"k{i}", tensor(16 * i + PAST_KEYS, (1, HEADS, int(keys), HEAD), INPUT_SIZE)
                          .transpose(0, 1, 3, 2).copy())  # the layout of a cache for this matmul
        past = model.input(f"v{i}", tensor(16 * i + PAST_VALUES, (1, HEADS, int(keys), HEAD), INPUT_SIZE))
        projected = model.op("Add", [model.op("MatMul", [y, model.weight(qkv.T)]), model.weight(qkv_bias)])
        query = model.op("Reshape", [model.op("Slice", [projected, first, last, axis]), split])
        query = model.op("Mul", [query, model.weight(numpy.float32(1 / math.sqrt(HEAD)))])
        weights = model.op("Softmax", [model.op("MatMul", [query, key])], axis=-1)
        mixed = model.op("Reshape", [model.op("MatMul", [weights, past]), joined])
        y = norm(model, model.op("MatMul", [mixed, model.weight(out.T)]), y, model.weight(out_bias))
        y = feed_forward(model, y, *rest)
    return model.runner(y)


serve(f"onnxruntime {onnxruntime.__version__}",
      {"matmul": matmul, "attention": attention, "encoder": encoder, "decode": decode})
