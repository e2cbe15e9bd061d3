#!/usr/bin/env python3
"""Times the rows of rows.hpp on ncnn's Vulkan device.

  ncnn_rows.py SECONDS ROW...

Networks are in ncnn's text format, with arbitrary weights. Rows for which ncnn has no layer get "-". f32 rows run without f16, so
that both sides compute the same.
"""
import os
import statistics
import sys
import tempfile
import time

import ncnn
import numpy


def option(half):
    options = ncnn.Option()
    options.use_vulkan_compute = True
    for name in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage",
                 "use_fp16_uniform", "use_int8_packed", "use_int8_storage", "use_int8_arithmetic",
                 "use_cooperative_matrix"):
        if hasattr(options, name):
            setattr(options, name, half and "fp16" in name)
    return options


class Text:
    """A network in ncnn's text format, its weights, and the names of its blobs."""

    def __init__(self):
        self.lines, self.blobs, self.weights = [], 0, []

    def layer(self, kind, inputs, outputs, values=""):
        self.blobs += len(outputs)
        names = " ".join(inputs + outputs)
        self.lines.append(f"{kind} l{len(self.lines)} {len(inputs)} {len(outputs)} {names} {values}")
        return outputs[0]

    def split(self, blob, count):
        outputs = [f"{blob}_{i}" for i in range(count)]
        self.layer("Split", [blob], outputs)
        return outputs

    def linear(self, blob, out, width):
        self.weights += [numpy.zeros(1, numpy.uint32), made_up(out * width), made_up(out)]
        return self.layer("InnerProduct", [blob], [f"b{self.blobs}"], f"0={out} 1=1 2={out * width}")

    def layernorm(self, blob, width):
        self.weights += [made_up(width), made_up(width)]
        return self.layer("LayerNorm", [blob], [f"b{self.blobs}"], f"0={width} 1=1e-5 2=1")

    def text(self):
        return "7767517\n%d %d\n%s\n" % (len(self.lines), self.blobs, "\n".join(self.lines))

    def data(self):
        return b"".join(w.tobytes() for w in self.weights)


def made_up(count):
    return ((numpy.arange(count, dtype=numpy.int64) * 7919 % 1000) / 10000 - 0.05).astype(numpy.float32)


def encoder(net, tokens):
    blob = net.layer("Input", [], ["in0"])
    for _ in range(12):
        a, b = net.split(blob, 2)
        for _ in range(4):  # query, key, value, output
            net.weights += [numpy.zeros(1, numpy.uint32), made_up(768 * 768), made_up(768)]
        attended = net.layer("MultiHeadAttention", [a], [f"b{net.blobs}"], f"0=768 1=12 2={768 * 768}")
        blob = net.layernorm(net.layer("BinaryOp", [b, attended], [f"b{net.blobs}"], "0=0"), 768)
        a, b = net.split(blob, 2)
        hidden = net.layer("GELU", [net.linear(a, 3072, 768)], [f"b{net.blobs}"], "0=0")
        out = net.linear(hidden, 768, 3072)
        blob = net.layernorm(net.layer("BinaryOp", [b, out], [f"b{net.blobs}"], "0=0"), 768)
    return blob, [made_up(tokens * 768).reshape(tokens, 768)]


def build(net, operation, sizes, causal):
    if operation == "encoder":
        return encoder(net, sizes[0])
    if operation == "attention":
        heads, tokens, width = sizes
        if causal:
            return None, "no causal attention"
        names = [net.layer("Input", [], [f"in{i}"]) for i in range(3)]
        blob = net.layer("SDPA", names, ["out"])
        return blob, [made_up(heads * tokens * width).reshape(heads, tokens, width) for _ in range(3)]
    blob = net.layer("Input", [], ["in0"])
    if operation == "matmul":
        m, n, k = sizes
        net.weights += [numpy.zeros(1, numpy.uint32), made_up(n * k)]
        # a [m, k] times a constant b, stored as [n, k]
        blob = net.layer("Gemm", [blob], ["out"], f"0=1.0 1=1.0 2=0 3=1 4=0 5=1 6=1 7={m} 8={n} 9={k} 10=-1")
        return blob, [made_up(m * k).reshape(m, k)]
    rows, columns = sizes
    data = made_up(rows * columns).reshape(rows, columns)
    if operation == "softmax":
        return net.layer("Softmax", [blob], ["out"], "0=1 1=1"), [data]
    if operation == "layernorm":
        return net.layernorm(blob, columns), [data]
    other = net.layer("Input", [], ["in1"])
    return net.layer("BinaryOp", [blob, other], ["out"], "0=0"), [data, data]


def run_once(net, blob, inputs):
    start = time.perf_counter()
    extractor = net.create_extractor()
    for i, mat in enumerate(inputs):
        extractor.input(f"in{i}", mat)
    code, result = extractor.extract(blob)
    if code != 0 or result.empty():
        raise RuntimeError(f"extract gave {code}")
    return (time.perf_counter() - start) * 1e3


def measure(row, seconds):
    operation, kind, sizes, *rest = row.split(":")
    sizes = [int(size) for size in sizes.split("x")]
    text = Text()
    blob, data = build(text, operation, sizes, bool(rest))
    if blob is None:
        return None, data
    net = ncnn.Net()
    net.opt = option(kind == "f16")
    if net.load_param_mem(text.text()) != 0:
        return None, "network refused"
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(text.data())
    code = net.load_model(file.name)
    os.unlink(file.name)
    if code != 0:
        return None, "weights refused"
    inputs = [ncnn.Mat(array) for array in data]
    run_once(net, blob, inputs)
    times, start = [], time.perf_counter()
    while not times or (time.perf_counter() - start < seconds and len(times) < 100):
        times.append(run_once(net, blob, inputs))
    return statistics.median(times), "with copies in and out"


def main():
    print("ncnn", ncnn.__version__, ncnn.get_gpu_info(0).device_name(), file=sys.stderr)
    for row in sys.argv[2:]:
        try:
            time_ms, note = measure(row, float(sys.argv[1]))
        except Exception as error:  # a failed row must not end the others
            time_ms, note = None, str(error)
        print(row, "-" if time_ms is None else "%.4f" % time_ms, note, sep="\t", flush=True)


if __name__ == "__main__":
    main()
