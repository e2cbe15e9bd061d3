"""Writes an encoder of 12 layers as an ONNX file, as PyTorch's exporter would, and times it on heed and onnxruntime in turn; see
onnx_peers.sh.

    onnx_peer.py PROGRAM DEVICE THREADS ROUNDS FOLDER [TOKENS...]
"""
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from serve import HEAD, HEADS, HIDDEN, INPUT, INPUT_SIZE, LAYERS, WIDTH, layer, measure, tensor

program, device, threads, rounds, folder, *tokens = sys.argv[1:]
folder = Path(folder)
LAYERS_OF_PART = 4  # 113 MB


def write(path, layers):
    """Linear layers are MatMul and Add; GELU consists of Div, Erf, Add and Mul."""
    nodes, weights = [], []

    def op(kind, *inputs, **attributes):
        nodes.append(helper.make_node(kind, inputs, [f"t{len(nodes)}"], name=f"n{len(nodes)}", **attributes))
        return nodes[-1].output[0]

    def constant(values):
        weights.append(numpy_helper.from_array(np.ascontiguousarray(values), f"w{len(weights)}"))
        return weights[-1].name

    def linear(x, weight, bias):
        return op("Add", op("MatMul", x, constant(weight.T)), constant(bias))

    def norm(x):
        return op("LayerNormalization", x, constant(np.ones(WIDTH, np.float32)), constant(np.zeros(WIDTH, np.float32)), epsilon=1e-5)

    def heads(x, order):
        return op("Transpose", op("Reshape", x, constant(np.array([0, 0, HEADS, HEAD], np.int64))), perm=order)

    y = "x"
    for i in range(layers):
        qkv, qkv_bias, out, out_bias, up, up_bias, down, down_bias = layer(i)
        q, k, v = (linear(y, w, b) for w, b in zip(np.split(qkv, 3), np.split(qkv_bias, 3)))
        scores = op("MatMul", heads(q, [0, 2, 1, 3]), heads(k, [0, 2, 3, 1]))
        shares = op("Softmax", op("Div", scores, constant(np.float32(HEAD**0.5))), axis=-1)
        mixed = op("Transpose", op("MatMul", shares, heads(v, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        y = norm(op("Add", linear(op("Reshape", mixed, constant(np.array([0, 0, WIDTH], np.int64))), out, out_bias), y))
        wide = linear(y, up, up_bias)
        bent = op("Add", op("Erf", op("Div", wide, constant(np.float32(2**0.5)))), constant(np.float32(1)))
        wide = op("Mul", op("Mul", wide, bent), constant(np.float32(0.5)))
        y = norm(op("Add", linear(wide, down, down_bias), y))
    nodes[-1].output[0] = "y"
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "tokens", WIDTH])
    graph = helper.make_graph(nodes, "encoder", [value("x")], [value("y")], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    path.write_bytes(model.SerializeToString())


def write_safetensors(path):
    """The same weights under the names of torch.nn.TransformerEncoder."""
    names = ["self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight", "self_attn.out_proj.bias",
             "linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"]
    tensors = {f"layers.{i}.{name}": values for i in range(LAYERS) for name, values in zip(names, layer(i))}
    for i in range(LAYERS):
        for norm in ("norm1", "norm2"):
            tensors[f"layers.{i}.{norm}.weight"] = np.ones(WIDTH, np.float32)
            tensors[f"layers.{i}.{norm}.bias"] = np.zeros(WIDTH, np.float32)
    header, at = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for values in tensors.values():
            file.write(values.tobytes())


class Heed:
    def __init__(self, work):
        self.work = work
        self.process = subprocess.Popen([program, device, threads, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def run(self, *arguments):
        self.process.stdin.write(" ".join(["run", self.work, *map(str, arguments)]) + "\n")
        self.process.stdin.flush()
        ms, *values = map(float, self.process.stdout.readline().split())
        return ms, values


class Onnxruntime:
    def __init__(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(threads)
        options.add_session_config_entry("session.intra_op.allow_spinning", "1")
        self.session = onnxruntime.InferenceSession(folder / "encoder.onnx", options, ["CPUExecutionProvider"])

    def run(self, batch, count):
        x = tensor(INPUT, (batch, count, WIDTH), INPUT_SIZE)
        ms, y = measure(lambda: self.session.run(None, {"x": x})[0])
        return ms, [float(y.reshape(-1)[i * 7919 % y.size]) for i in range(4)]


if not (folder / "part.onnx").exists():
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "encoder.safetensors")
    write(folder / "encoder.onnx", LAYERS)
    write(folder / "part.onnx", LAYERS_OF_PART)

peers = {"heed::nn": Heed("nn"), "heed, imported": Heed("onnx")}
if device == "cpu":
    peers[f"onnxruntime {onnxruntime.__version__}"] = Onnxruntime()
text = lambda numbers, digits: f"{statistics.median(numbers):.{digits}f} [{min(numbers):.{digits}f}..{max(numbers):.{digits}f}]"
print(f"{device}, {threads} threads, {rounds} rounds; a round's time is the least of several runs\n"
      "| | tokens | ms: median [least..most] | over the import: median [least..most] |\n|---|---|---|---|")
for count in map(int, tokens or ["128"]):
    times = {name: [] for name in peers}
    for _ in range(int(rounds)):
        results = {}
        for name, peer in peers.items():
            ms, results[name] = peer.run(1, count)
            times[name].append(ms)
            time.sleep(0.05)  # threads spin for a while after a run
        for name, values in results.items():
            assert np.allclose(values, results["heed::nn"], atol=2e-3, rtol=2e-3), (name, results)
    for name, own in times.items():
        over = [a / b for a, b in zip(own, times["heed, imported"])]
        print(f"| {name} | {count} | {text(own, 1)} | {text(over, 3)} |")
opened = [Heed("open").run()[0] for _ in range(int(rounds))]
size = (folder / "part.onnx").stat().st_size / 1e6
print(f"\nopen of {size:.0f} MB: {text(opened, 2)} ms")
weights, grown = map(int, subprocess.run([program, "memory", device, folder / "encoder.onnx"], check=True, capture_output=True,
                                         text=True).stdout.split())
print(f"upload of {weights / 1e6:.0f} MB: the process grows by {grown / 1e6:.0f} MB at most, {grown / weights:.3f} of it")
