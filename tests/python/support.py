"""Graphs that several tests run, and ways to run them."""

import subprocess
import sys
import threading

import numpy as np

import heed


def doubled(device, shape=(3, 4), dtype="f32"):
    """A plan with input "x" and output "y", which is x + x."""
    g = heed.Graph()
    x = g.input("x", shape, dtype)
    g.output("y", x + x)
    return device.compile(g)


def slow(device, size=512, times=40):
    """A plan that takes a large part of a second on two processors: "x" times a matrix, many times."""
    g = heed.Graph()
    x = g.input("x", [size, size])
    w = g.input("w", [size, size])
    y = x
    for _ in range(times):
        y = g.activation(y @ w, "tanh")
    g.output("y", y)
    random = np.random.default_rng(1)
    arrays = {name: random.standard_normal((size, size), np.float32) / 16 for name in ("x", "w")}
    return device.compile(g), arrays


def close(a, b):
    return bool((np.abs(np.asarray(a, np.float64) - b) <= 2e-5 + 1e-4 * np.abs(b)).all())


def in_threads(work, count):
    """Calls work(0) to work(count - 1), each in its own thread, and waits for them."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_new_process(code, timeout=600):
    """A program's output and exit code."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr
