"""Uses an installed wheel on the device that its argument selects: attention beside numpy in double precision. Prints "passed"."""

import sys

import heed
import numpy as np

rng = np.random.default_rng(1)
q, k, v = (rng.standard_normal((1, 2, tokens, 16)).astype(np.float32) for tokens in (5, 7, 7))
g = heed.Graph()
inputs = [g.input(name, value.shape) for name, value in (("q", q), ("k", k), ("v", v))]
g.output("y", g.attention(*inputs).output)
plan = heed.Device(select=sys.argv[1]).compile(g)
y = plan.run({"q": q, "k": k, "v": v})["y"]

scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(2, 3) / 4
weights = np.exp(scores - scores.max(-1, keepdims=True))
error = np.abs(y - weights / weights.sum(-1, keepdims=True) @ v).max()
assert error < 1e-5, error
print(f"on {sys.argv[1]} within {error:.1e} of numpy: passed")
