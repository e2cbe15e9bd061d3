#!/usr/bin/env python3
"""Makes curve.safetensors: a training in PyTorch, in double, of a narrow model as in samples/learn.

    /usr/bin/python3 tests/train/make_curve.py [FILE]     needs PyTorch (python3-torch of Debian 12 has 1.13)

It reads the beginning of samples/learn/genesis.txt. Weights, rows and rates come from the formulas below, which curve_test.cpp also
has. The file holds
    losses   F32 [STEPS], of each step's rows before the step
    norms    F32 [STEPS], of the gradients before clipping
    out      F32 [..], the weights out.weight at the end
"""
import math
import sys
from pathlib import Path

import torch

from make import write

HERE = Path(__file__).parent
STEPS, RUNS, ROWS, CONTEXT, LAYERS, WIDTH, HEADS, BYTES = 200, 2, 4, 24, 2, 32, 2, 20000
RATE, DECAY, MAX_NORM = 3e-3, 0.05, 1.0
MASK = (1 << 64) - 1


def random_bits(seed, counter):
    z = (seed * 0xD1342543DE82EF95 + counter * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def initial(name, shape):
    count = math.prod(shape)
    if len(shape) == 1:
        return torch.full(shape, 1.0 if name.endswith(".weight") else 0.0, dtype=torch.float32)
    most = torch.tensor(math.sqrt(3 / shape[1] if name == "characters.weight" else 6 / sum(shape)), dtype=torch.float32)
    seed = sum((i + 1) * ord(c) for i, c in enumerate(name))
    units = [(random_bits(seed, i) >> 40) / 2**23 - 1 for i in range(count)]
    return (torch.tensor(units, dtype=torch.float32) * most).reshape(shape)


def rate_of(step):
    warm, at = STEPS / 20, step + 1
    if at < warm:
        return RATE * at / warm
    return RATE * (0.55 + 0.45 * math.cos(math.pi * min(1.0, (at - warm) / (STEPS - warm))))


class Model(torch.nn.Module):
    def __init__(self, characters):
        super().__init__()
        self.characters = torch.nn.Embedding(characters, WIDTH)
        layer = lambda: torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.0, "gelu", 1e-5, True, True)
        self.layers = torch.nn.ModuleList(layer() for _ in range(LAYERS))
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.out = torch.nn.Linear(WIDTH, characters)
        places = torch.arange(CONTEXT, dtype=torch.float64)[:, None]
        angles = places * torch.exp(torch.arange(0, WIDTH, 2, dtype=torch.float64) * (-math.log(10000.0) / WIDTH))
        self.table = torch.stack([angles.sin(), angles.cos()], -1).reshape(CONTEXT, WIDTH)
        self.hidden = torch.triu(torch.ones(CONTEXT, CONTEXT, dtype=torch.bool), 1)

    def forward(self, ids):
        x = self.characters(ids) * math.sqrt(WIDTH) + self.table
        for layer in self.layers:
            x = layer(x, src_mask=self.hidden)
        return self.out(self.norm(x))


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    text = (HERE.parent.parent / "samples/learn/genesis.txt").read_bytes()[:BYTES]
    characters = sorted(set(text))
    numbers = torch.tensor([characters.index(c) for c in text])
    model = Model(len(characters))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(initial(name, tuple(parameter.shape)))
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.99), eps=1e-8)
    losses, norms = [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        total = 0.0
        for run in range(RUNS):
            first = (step * RUNS + run) * ROWS
            places = [random_bits(11, first + row) % (len(text) - CONTEXT) for row in range(ROWS)]
            ids = torch.stack([numbers[p : p + CONTEXT] for p in places])
            after = torch.stack([numbers[p + 1 : p + CONTEXT + 1] for p in places])
            loss = torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), after.flatten())
            (loss / RUNS).backward()
            total += float(loss.detach()) / RUNS
        losses.append(total)
        norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)))
        for group in optimizer.param_groups:
            group["lr"] = rate_of(step)
        optimizer.step()
    print(losses[0], losses[-1], max(norms), min(norms))
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "curve.safetensors"
    write(file, {"losses": torch.tensor(losses), "norms": torch.tensor(norms), "out": model.out.weight.detach()})


if __name__ == "__main__":
    main()
