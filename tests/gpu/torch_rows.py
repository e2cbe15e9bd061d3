#!/usr/bin/env python3
"""Times the rows of tests/bench/rows.hpp in PyTorch, by CUDA events.

  torch_rows.py SECONDS ROW...

Prints "row <tab> median milliseconds <tab> note". Without PyTorch or a GPU it says so and prints no row."""
import statistics
import sys
import time

try:
    import torch
except ImportError:
    torch = None


def encoder(tokens, kind):
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.0, activation="gelu", batch_first=True)
    stack = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).eval().to("cuda", kind)
    x = torch.randn(1, tokens, 768, device="cuda", dtype=kind)
    return lambda: stack(x)


def build(row):
    operation, kind, sizes, *flag = row.split(":")
    kind = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[kind]
    sizes = [int(size) for size in sizes.split("x")]

    def random(*shape):
        return torch.randn(*shape, device="cuda", dtype=kind)

    functional = torch.nn.functional
    if operation == "encoder":
        return encoder(sizes[0], kind)
    if operation == "matmul":
        m, n, k = sizes
        x, w = random(m, k), random(n, k)
        return lambda: torch.matmul(x, w.t())
    if operation == "attention":
        q, k, v = (random(1, *sizes) for _ in range(3))
        return lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=bool(flag))
    x = random(*sizes)
    if operation == "softmax":
        return lambda: torch.softmax(x, -1)
    if operation == "layernorm":
        norm = torch.nn.LayerNorm(sizes[1], device="cuda", dtype=kind)
        return lambda: norm(x)
    z = random(*sizes)
    return lambda: x + z


def measure(run, seconds):
    # A GPU lowers its clock while it has little to do, as between two rows, and raises it slowly.
    start = time.perf_counter()
    while time.perf_counter() - start < min(0.3, seconds / 2):
        run()
        torch.cuda.synchronize()
    times, start = [], time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - start < seconds and len(times) < 100):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def main():
    if torch is None or not torch.cuda.is_available():
        print("PyTorch: none with a GPU here, so its rows are left out", file=sys.stderr)
        return
    # True f32, as heed computes.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    print("PyTorch", torch.__version__, torch.cuda.get_device_name(), file=sys.stderr)
    with torch.inference_mode():
        for row in sys.argv[2:]:
            try:
                print(row, "%.4f" % measure(build(row), float(sys.argv[1])), "", sep="\t", flush=True)
            except RuntimeError as error:  # a failed row, for example without enough memory, must not end the others
                print(row, "-", str(error).splitlines()[0], sep="\t", flush=True)


if __name__ == "__main__":
    main()
