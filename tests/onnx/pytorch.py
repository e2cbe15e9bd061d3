#!/usr/bin/env python3
"""Exports models from this machine's PyTorch, with the results that PyTorch computes in f64.

    pytorch.py FOLDER

Writes NAME.onnx and NAME.npz, for `heed onnx NAME.onnx --check NAME.npz`, and NAME.json with one case, for
samples/godot/tests/model.gd: an encoder, a small ViT, the policy of samples/godot after one step of training, and the files of the
Python in include/heed/guide/from_onnx.md.
"""
import copy
import json
import pathlib
import re
import sys
import warnings

import numpy
import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "samples/godot/policy"))
warnings.filterwarnings("ignore")
import policy as crowd  # noqa: E402


class Encoder(nn.Module):
    """Maps tokens [batch, length], with a mask of valid ones, to vectors of length 1 [batch, 32]."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 32), nn.Embedding(40, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)

    def forward(self, ids, counts):
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.words(ids) + self.places(places)
        # In training mode the export has single operators and not the fused inference layer.
        for one in self.layers.layers:
            x = x + one._sa_block(one.norm1(x), None, ~counts)
            x = x + one._ff_block(one.norm2(x))
        kept = counts.unsqueeze(-1).to(x.dtype)
        mean = (x * kept).sum(1) / kept.sum(1).clamp(min=1.0)
        return mean / torch.sqrt((mean * mean).sum(-1, keepdim=True))


class ViT(nn.Module):
    """Maps images [batch, 3, 16, 16] to scores of 5 classes."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 24, 4, 4)
        self.first, self.places = nn.Parameter(torch.randn(1, 1, 24)), nn.Parameter(0.1 * torch.randn(1, 17, 24))
        self.norms = nn.ModuleList([nn.LayerNorm(24) for _ in range(4)])
        self.attention = nn.ModuleList([nn.MultiheadAttention(24, 3, batch_first=True) for _ in range(2)])
        self.mlp = nn.ModuleList([nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 24)) for _ in range(2)])
        self.head = nn.Sequential(nn.LayerNorm(24), nn.Linear(24, 5))

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        for i, attention in enumerate(self.attention):
            y = self.norms[2 * i](x)
            x = x + attention(y, y, y, need_weights=True)[0]
            x = x + self.mlp[i](self.norms[2 * i + 1](x))
        return self.head(x[:, 0])


def tokens(batch, length):
    lengths = torch.randint(1, length + 1, (batch, 1))
    return {"ids": torch.randint(0, 50, (batch, length)), "counts": torch.arange(length) < lengths}


def write(folder, name, model, cases, output, dims):
    """Writes one file of each kind. `dims`: the names of dims by input and output."""
    inputs = list(cases[0])
    torch.onnx.export(model.eval(), tuple(cases[0].values()), folder / f"{name}.onnx", input_names=inputs, output_names=[output],
                      dynamic_axes=dims, opset_version=14)
    exact, arrays, told = copy.deepcopy(model).double(), {}, {}
    for i, case in enumerate(cases):
        with torch.no_grad():
            result = exact(*[x.double() if x.is_floating_point() else x for x in case.values()])
        arrays |= {f"in.c{i}.{key}": x.numpy() for key, x in case.items()}
        arrays[f"out.c{i}.{output}"] = result.numpy()
        told = {"inputs": {key: {"shape": list(x.shape), "values": x.flatten().tolist()} for key, x in case.items()},
                "output": output, "values": result.flatten().tolist()}
    numpy.savez(folder / f"{name}.npz", **arrays)
    (folder / f"{name}.json").write_text(json.dumps(told) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(3)
    write(folder, "encoder", Encoder(), [tokens(2, 7), tokens(3, 16), tokens(1, 1)], "vectors",
          {"ids": {0: "batch", 1: "length"}, "counts": {0: "batch", 1: "length"}, "vectors": {0: "batch"}})
    write(folder, "vit", ViT(), [{"image": torch.rand(n, 3, 16, 16)} for n in (2, 3)], "scores", {"image": {0: "batch"}, "scores": {0: "batch"}})
    policy = crowd.Policy()
    crowd.train(policy, walks=1, parts=1)
    write(folder, "crowd", policy, [{"agents": crowd.crossing(n)} for n in (9, 40)], "velocity",
          {"agents": {0: "count"}, "velocity": {0: "count"}})
    page = (ROOT / "include/heed/guide/from_onnx.md").read_text()
    code = re.search(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE).group(1)
    exec(compile(code.replace('"policy.', f'"{folder}/policy.'), "from_onnx.md", "exec"), {})


if __name__ == "__main__":
    main()
