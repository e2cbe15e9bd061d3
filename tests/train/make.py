#!/usr/bin/env python3
"""Makes optimizers.safetensors: the weights that PyTorch's optimizers compute from the weights and gradients below, in double.

    /usr/bin/python3 tests/train/make.py [FOLDER]     needs PyTorch (python3-torch of Debian 12 has 1.13)

Weights are "a" [3, 5] and "c" [9, 500], which are decayed, and "b" [7], which is not. Element i of weight number w begins at
value(i, w) and has the gradient value(i, 100 + 10 step + w) / 4 at a step; optimizer_test.cpp has the same formula. For each
optimizer NAME the file holds, after STEPS steps,
    NAME.a, NAME.b, NAME.c       the weights
    adamw.a.exp_avg, ...         the moments
    NAME.norms                   F32 [STEPS], the norm of all gradients of each step before clipping
"""
import json
import struct
import sys
from pathlib import Path

import torch

STEPS = 12
SHAPES = {"a": (3, 5), "b": (7,), "c": (9, 500)}
MAX_NORM = 6.0


def value(i, salt):
    """Multiples of 1/1024 between -1 and 1, which floats represent exactly."""
    return ((i * 7919 + salt * 104729 + i * i % 1013) % 2049 - 1024) / 1024


def tensor(name, salt, scale=1.0):
    count = torch.Size(SHAPES[name]).numel()
    return torch.tensor([value(i, salt) * scale for i in range(count)], dtype=torch.float64).reshape(SHAPES[name])


def run(name, make):
    parameters = {n: torch.nn.Parameter(tensor(n, w)) for w, n in enumerate(SHAPES)}
    groups = [{"params": [parameters["a"], parameters["c"]], "weight_decay": 0.05},
              {"params": [parameters["b"]], "weight_decay": 0.0}]
    optimizer = make(groups)
    norms = []
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = 0.01 * (1 - step / 16)
        for w, n in enumerate(SHAPES):
            parameters[n].grad = tensor(n, 100 + 10 * step + w, 0.25)
        norms.append(float(torch.nn.utils.clip_grad_norm_(parameters.values(), MAX_NORM)))
        optimizer.step()
    result = {f"{name}.{n}": p.detach() for n, p in parameters.items()}
    if name == "adamw":
        for n, p in parameters.items():
            for moment in ("exp_avg", "exp_avg_sq"):
                result[f"{name}.{n}.{moment}"] = optimizer.state[p][moment]
    result[f"{name}.norms"] = torch.tensor(norms, dtype=torch.float64)
    return result


def write(path, tensors):
    header, data = {"__metadata__": {"made by": "tests/train/make.py"}}, b""
    for name, values in tensors.items():
        flat = values.reshape(-1).tolist()
        packed = struct.pack(f"<{len(flat)}f", *flat)
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    tensors = {}
    tensors.update(run("adamw", lambda groups: torch.optim.AdamW(groups, betas=(0.9, 0.99), eps=1e-6)))
    tensors.update(run("sgd", lambda groups: torch.optim.SGD(groups, lr=0.1)))
    tensors.update(run("momentum", lambda groups: torch.optim.SGD(groups, lr=0.1, momentum=0.8)))
    tensors.update(run("nesterov", lambda groups: torch.optim.SGD(groups, lr=0.1, momentum=0.8, nesterov=True)))
    write(folder / "optimizers.safetensors", tensors)


if __name__ == "__main__":
    main()
