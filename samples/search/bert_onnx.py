"""A BERT encoder as an ONNX model, made from a Hugging Face folder: the reference for results and speed.

build(directory) uses standard operators only, in the order of the published model. build(directory, fused=True) uses onnxruntime's
own fused operators (com.microsoft), which are its fastest on a CPU. make(config, weights) does the same with a configuration and
weights from elsewhere."""
import json
import pathlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

ACTIVATIONS = {"gelu", "relu", "tanh"}


def load(directory):
    from safetensors.numpy import load_file

    directory = pathlib.Path(directory)
    config = json.loads((directory / "config.json").read_text())
    index = directory / "model.safetensors.index.json"
    files = {"model.safetensors"}
    if index.exists():
        files = set(json.loads(index.read_text())["weight_map"].values())
    weights = {}
    for file in files:
        weights.update(load_file(directory / file))
    return config, {name: w.astype(numpy.float32) for name, w in weights.items() if w.dtype.kind == "f"}


class Builder:
    def __init__(self):
        self.nodes, self.weights = [], {}

    def weight(self, name, value):
        self.weights[name] = numpy_helper.from_array(numpy.ascontiguousarray(value), name)
        return name

    def op(self, kind, inputs, outputs=1, domain="", **attributes):
        names = [f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def ints(self, *values):
        return self.weight("ints_" + "_".join(map(str, values)), numpy.array(values, numpy.int64))

    def scalar(self, value):
        return self.weight(f"scalar_{value!r}", numpy.float32(value))


class Encoder(Builder):
    """Plain operators."""

    def __init__(self, config, weights):
        super().__init__()
        self.c, self.w = config, weights
        self.eps = config.get("layer_norm_eps", 1e-12)
        self.heads = config["num_attention_heads"]
        self.width = config["hidden_size"]
        self.attention = []

    def table(self, name):
        return self.weight(name, self.w[name])

    def linear(self, x, name):
        product = self.op("MatMul", [x, self.weight(name + ".weight.t", self.w[name + ".weight"].T)])
        return self.op("Add", [product, self.table(name + ".bias")])

    def norm(self, x, name):
        return self.op("LayerNormalization", [x, self.table(name + ".weight"), self.table(name + ".bias")],
                       epsilon=self.eps, axis=-1)

    def embed(self, ids, types):
        shape = self.op("Shape", [ids], start=1, end=2)
        positions = self.op("Slice", [self.table("embeddings.position_embeddings.weight"), self.ints(0), shape])
        x = self.op("Gather", [self.table("embeddings.word_embeddings.weight"), ids])
        x = self.op("Add", [x, self.op("Gather", [self.table("embeddings.token_type_embeddings.weight"), types])])
        return self.norm(self.op("Add", [x, positions]), "embeddings.LayerNorm")

    def mask_bias(self, keep):
        kept = self.op("Cast", [keep], to=TensorProto.FLOAT)
        hidden = self.op("Sub", [self.scalar(1.0), kept])
        bias = self.op("Mul", [hidden, self.scalar(float(numpy.finfo(numpy.float32).min))])
        return self.op("Unsqueeze", [bias, self.ints(1, 2)])

    def attend(self, x, bias, name):
        width = self.width // self.heads

        def heads(part):
            split = self.op("Reshape", [self.linear(x, f"{name}.self.{part}"), self.ints(0, 0, self.heads, width)])
            return self.op("Transpose", [split], perm=[0, 2, 1, 3])

        key = self.op("Transpose", [heads("key")], perm=[0, 1, 3, 2])
        scores = self.op("Div", [self.op("MatMul", [heads("query"), key]), self.scalar(float(numpy.sqrt(width)))])
        weights = self.op("Softmax", [self.op("Add", [scores, bias])], axis=-1)
        self.attention.append(weights)
        mixed = self.op("Transpose", [self.op("MatMul", [weights, heads("value")])], perm=[0, 2, 1, 3])
        return self.op("Reshape", [mixed, self.ints(0, 0, self.width)])

    def activate(self, x):
        kind = self.c.get("hidden_act", "gelu")
        assert kind in ACTIVATIONS, kind
        if kind != "gelu":
            return self.op(kind.capitalize(), [x])
        erf = self.op("Erf", [self.op("Div", [x, self.scalar(float(numpy.sqrt(2.0)))])])
        return self.op("Mul", [self.op("Mul", [x, self.op("Add", [erf, self.scalar(1.0)])]), self.scalar(0.5)])

    def layer(self, x, bias, name):
        mixed = self.linear(self.attend(x, bias, name + ".attention"), name + ".attention.output.dense")
        x = self.norm(self.op("Add", [mixed, x]), name + ".attention.output.LayerNorm")
        y = self.linear(self.activate(self.linear(x, name + ".intermediate.dense")), name + ".output.dense")
        return self.norm(self.op("Add", [y, x]), name + ".output.LayerNorm")

    def encode(self, ids, keep, types):
        x, bias = self.embed(ids, types), self.mask_bias(keep)
        for i in range(self.c["num_hidden_layers"]):
            x = self.layer(x, bias, f"encoder.layer.{i}")
        return x

    def sentence(self, x, keep):
        kept = self.op("Unsqueeze", [self.op("Cast", [keep], to=TensorProto.FLOAT), self.ints(2)])
        total = self.op("ReduceSum", [self.op("Mul", [x, kept]), self.ints(1)], keepdims=0)
        count = self.op("Max", [self.op("ReduceSum", [kept, self.ints(1)], keepdims=0), self.scalar(1e-9)])
        mean = self.op("Div", [total, count])
        length = self.op("ReduceL2", [mean, self.ints(1)], keepdims=1)
        return self.op("Div", [mean, self.op("Max", [length, self.scalar(1e-12)])])

    def pooled(self, x):
        first = self.op("Gather", [x, self.weight("zero", numpy.int64(0))], axis=1)
        return self.op("Tanh", [self.linear(first, "pooler.dense")])


class FusedEncoder(Encoder):
    """onnxruntime's own operators for the embeddings, the attention, bias + gelu and add + norm."""
    ms = "com.microsoft"

    def embed(self, ids, types):
        tables = [self.table(f"embeddings.{n}_embeddings.weight") for n in ("word", "position", "token_type")]
        norm = [self.table("embeddings.LayerNorm.weight"), self.table("embeddings.LayerNorm.bias")]
        return self.op("EmbedLayerNormalization", [ids, types, *tables, *norm], 2, self.ms, epsilon=self.eps)[0]

    def mask_bias(self, keep):
        return keep

    def attend(self, x, keep, name):
        parts = [self.w[f"{name}.self.{part}.weight"].T for part in ("query", "key", "value")]
        biases = [self.w[f"{name}.self.{part}.bias"] for part in ("query", "key", "value")]
        weight = self.weight(name + ".qkv.weight", numpy.concatenate(parts, 1))
        bias = self.weight(name + ".qkv.bias", numpy.concatenate(biases))
        return self.op("Attention", [x, weight, bias, keep], 1, self.ms, num_heads=self.heads)

    def matmul(self, x, name):
        return self.op("MatMul", [x, self.weight(name + ".weight.t", self.w[name + ".weight"].T)])

    def add_norm(self, x, residual, norm, bias):
        return self.op("SkipLayerNormalization",
                       [x, residual, self.table(norm + ".weight"), self.table(norm + ".bias"), self.table(bias)],
                       1, self.ms, epsilon=self.eps)

    def layer(self, x, keep, name):
        assert self.c.get("hidden_act", "gelu") == "gelu"
        attention = name + ".attention"
        mixed = self.matmul(self.attend(x, keep, attention), attention + ".output.dense")
        x = self.add_norm(mixed, x, attention + ".output.LayerNorm", attention + ".output.dense.bias")
        h = self.matmul(x, name + ".intermediate.dense")
        h = self.op("BiasGelu", [h, self.table(name + ".intermediate.dense.bias")], 1, self.ms)
        return self.add_norm(self.matmul(h, name + ".output.dense"), x, name + ".output.LayerNorm",
                             name + ".output.dense.bias")


def build(directory, fused=False, details=False):
    return make(*load(directory), fused, details)


def make(config, weights, fused=False, details=False):
    """ONNX bytes. Inputs ids, keep, types [B, S] int32; output sentence [B, C]. With details also the output of the last layer
    (tokens), the pooler (pooled) and, with plain operators, attention.0, attention.1, ..."""
    encoder = (FusedEncoder if fused else Encoder)(config, weights)
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT32, ["batch", "tokens"]) for n in ("ids", "keep", "types")]
    tokens = encoder.encode("ids", "keep", "types")
    results = {"sentence": encoder.sentence(tokens, "keep")}
    if details:
        results |= {"tokens": tokens, "pooled": encoder.pooled(tokens)}
        results |= {f"attention.{i}": name for i, name in enumerate(encoder.attention)}
    for name, value in results.items():
        encoder.nodes.append(helper.make_node("Identity", [value], [name]))
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
    graph = helper.make_graph(encoder.nodes, "bert", inputs, outputs, list(encoder.weights.values()))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return model.SerializeToString()
