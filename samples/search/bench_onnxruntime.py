"""Compares heed's CPU device with onnxruntime on the same model, processor and threads, in the same run.

  python -m venv venv && venv/bin/pip install numpy onnx onnxruntime safetensors
  venv/bin/python bench_onnxruntime.py MODEL_FOLDER HEED_PROGRAM [--rounds 5] [--seconds 1]

Each round times heed and then onnxruntime, so that other work on the machine slows both. A row's ratio is the time of onnxruntime
divided by that of heed: the median over the rounds, the least and the greatest. Above 1, heed is faster. onnxruntime runs with
standard operators, which it fuses, and with its own fused operators; a row uses the faster one."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

# Some machines set these variables for all numeric programs, which slows some of these down.
UNWANTED = [name for name in os.environ if name.startswith(("OPENBLAS_", "OMP_", "MKL_", "ORT_"))]
if UNWANTED:
    clean = {name: value for name, value in os.environ.items() if name not in UNWANTED}
    os.execve(sys.executable, [sys.executable, *sys.argv], clean)

import numpy  # noqa: E402
import onnxruntime  # noqa: E402

import bert_onnx  # noqa: E402

ROWS = [(1, 32), (1, 128), (32, 32), (32, 128)]


def make_session(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def time_session(session, batch, tokens, seconds):
    rng = numpy.random.default_rng(1)
    ids = rng.integers(1000, 20000, (batch, tokens), dtype=numpy.int32)
    feed = {"ids": ids, "keep": numpy.ones_like(ids), "types": numpy.zeros_like(ids)}
    session.run(None, feed)
    times, start = [], time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - start < seconds and len(times) < 400):
        before = time.perf_counter()
        session.run(None, feed)
        times.append((time.perf_counter() - before) * 1e3)
    return statistics.median(times)


def time_heed(program, model, seconds):
    command = [program, "bench", "--model", model, "--device", "cpu", "--seconds", str(seconds), "--json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    rows = report["devices"][0]["rows"]
    return {(row["batch"], row["tokens"]): row["median_ms"] for row in rows if row["dtype"] == "f32"}


def spread(values):
    return f"{statistics.median(values):8.2f} ({min(values):.2f} .. {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("heed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    arguments = parser.parse_args()
    threads = len(os.sched_getaffinity(0))
    sessions = {name: make_session(bert_onnx.build(arguments.model, fused=fused), threads)
                for name, fused in (("standard operators", False), ("fused operators", True))}
    heed, other = {row: [] for row in ROWS}, {name: {row: [] for row in ROWS} for name in sessions}
    for _ in range(arguments.rounds):
        for row, value in time_heed(arguments.heed, arguments.model, arguments.seconds).items():
            heed[row].append(value)
        for name, session in sessions.items():
            for row in ROWS:
                other[name][row].append(time_session(session, *row, arguments.seconds))
    print(f"onnxruntime {onnxruntime.__version__}, {threads} threads, f32; median of {arguments.rounds} rounds (min .. max)")
    print(f"{'batch':>5} {'tokens':>6} {'heed ms':>27} {'onnxruntime ms':>27} {'ratio':>24} {'heed/s':>9}  onnxruntime's faster way")
    for row in ROWS:
        best = min(sessions, key=lambda name: statistics.median(other[name][row]))
        ratios = [b / a for a, b in zip(heed[row], other[best][row])]
        rate = row[0] * 1e3 / statistics.median(heed[row])
        print(f"{row[0]:>5} {row[1]:>6} {spread(heed[row]):>27} {spread(other[best][row]):>27} {spread(ratios):>24} {rate:>9.0f}  {best}")


main()
