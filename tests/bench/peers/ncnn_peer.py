"""ncnn: a network of its MultiHeadAttention, Gemm, GELU and LayerNorm layers. ncnn has no batches."""
import pathlib
import sys
import tempfile

import ncnn
import numpy

from serve import *


class Network:
    def __init__(self):
        self.lines, self.data, self.blobs = [], [], 0

    def layer(self, kind, inputs, **parameters):
        """parameters: p0=..., p1=... as in ncnn's documentation."""
        self.blobs += 1
        name = f"b{self.blobs}"
        numbers = " ".join(f"{key[1:]}={value}" for key, value in parameters.items())
        self.lines.append(f"{kind} {name} {len(inputs)} 1 {' '.join(inputs)} {name} {numbers}")
        return name

    def input(self):
        return self.layer("Input", [])

    def weights(self, *arrays):
        """A matrix begins with a word for its storage type, 0: f32."""
        for array in arrays:
            if array.ndim == 2:
                self.data.append(b"\0\0\0\0")
            self.data.append(numpy.ascontiguousarray(array, dtype=numpy.float32).tobytes())

    def linear(self, x, weight, bias=None):
        n, k = weight.shape
        y = self.layer("Gemm", [x], p2=0, p3=1, p4=0, p5=1, p6=1, p7=0, p8=n, p9=k, p10=-1 if bias is None else 4)
        self.weights(weight)
        if bias is not None:
            self.weights(bias[None, :])
        return y

    def uses(self, x, count):
        """A blob has one reader; a Split layer adds readers."""
        self.blobs += 1
        names = [f"b{self.blobs}_{i}" for i in range(count)]
        self.lines.append(f"Split b{self.blobs} 1 {count} {x} {' '.join(names)}")
        return names

    def norm(self, x, other):
        y = self.layer("LayerNorm", [self.layer("BinaryOp", [x, other], p0=0)], p0=WIDTH, p1=1e-5, p2=1)
        self.weights(numpy.ones(WIDTH), numpy.zeros(WIDTH))
        return y

    def runner(self, result, inputs, stored):
        blobs = sum(int(line.split()[3]) for line in self.lines)
        net = ncnn.Net()
        net.opt.num_threads = int(sys.argv[1])
        net.opt.use_vulkan_compute = False
        net.opt.use_bf16_storage = stored == "bf16"
        net.opt.use_fp16_storage = net.opt.use_fp16_packed = net.opt.use_fp16_arithmetic = False
        with tempfile.TemporaryDirectory() as folder:
            param, weights = pathlib.Path(folder, "net.param"), pathlib.Path(folder, "net.bin")
            param.write_text(f"7767517\n{len(self.lines)} {blobs}\n" + "\n".join(self.lines) + "\n")
            weights.write_bytes(b"".join(self.data))
            if net.load_param(str(param)) != 0 or net.load_model(str(weights)) != 0:
                return None
        # A Mat made of an array refers to the array's memory.
        held = {name: ncnn.Mat(numpy.ascontiguousarray(values)).clone() for name, values in inputs.items()}

        def run():
            with net.create_extractor() as extractor:
                for name, mat in held.items():
                    extractor.input(name, mat)
                return numpy.array(extractor.extract(result)[1])
        return run


def matmul(m, n, k, stored):
    if stored == "f16":
        return None
    net = Network()
    x = net.input()
    return net.runner(net.linear(x, tensor(QKV, (int(n), int(k)), WEIGHT_SIZE)),
                      {x: tensor(INPUT, (int(m), int(k)), INPUT_SIZE)}, stored)


def attention(tokens, kind, stored):
    if stored != "f32" or kind == "causal":
        return None
    net = Network()
    names = [net.input() for _ in range(3)]
    inputs = {name: tensor(INPUT + i, (HEADS, int(tokens), HEAD), INPUT_SIZE) for i, name in enumerate(names)}
    return net.runner(net.layer("SDPA", names, p5=0, p6=HEAD ** -0.5), inputs, stored)


def encoder(batch, tokens, stored):
    if stored == "f16" or batch != "1":
        return None
    net = Network()
    first = y = net.input()
    for i in range(LAYERS):
        qkv, qkv_bias, out, out_bias, up, up_bias, down, down_bias = layer(i)
        direct, y = net.uses(y, 2)
        mixed = net.layer("MultiHeadAttention", [y], p0=WIDTH, p1=HEADS, p2=WIDTH * WIDTH, p3=WIDTH, p4=WIDTH,
                          p6=HEAD ** -0.5)
        for part in range(3):
            rows = slice(part * WIDTH, (part + 1) * WIDTH)
            net.weights(qkv[rows], qkv_bias[rows])
        net.weights(out, out_bias)
        direct, y = net.uses(net.norm(mixed, direct), 2)
        wide = net.layer("GELU", [net.linear(y, up, up_bias)], p0=0)
        y = net.norm(net.linear(wide, down, down_bias), direct)
    return net.runner(y, {first: tensor(INPUT, (int(tokens), WIDTH), INPUT_SIZE)}, stored)


serve(f"ncnn {ncnn.__version__}", {"matmul": matmul, "attention": attention, "encoder": encoder})
