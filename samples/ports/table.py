"""The rows of the tables of include/heed/guide/from_pytorch.md as a port: both columns are evaluated with the same numbers."""

import pathlib
import re
import types

import torch
from torch import nn
from torch.nn import functional

import heed
from convolution import channels_last
from port import Port, ready

PAGE = pathlib.Path(__file__).resolve().parents[2] / "include/heed/guide/from_pytorch.md"
C = 8


class RmsNorm(nn.Module):
    """nn.RMSNorm, which PyTorch has since 2.4."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(C))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def modules():
    return nn.ModuleDict({
        "fc": nn.Linear(C, 3), "bare": nn.Linear(C, 3, bias=False), "gate": nn.Linear(C, C), "norm": nn.LayerNorm(C), "rms": RmsNorm(),
        "words": nn.Embedding(20, C), "drop": nn.Dropout(0.1), "conv": nn.Conv1d(C, 6, 3, stride=2, padding=1),
        "patch": nn.Conv2d(3, 6, 4, stride=4),
        "attn": nn.MultiheadAttention(C, 2, batch_first=True), "wide": nn.MultiheadAttention(C, 2, kdim=6, vdim=6, batch_first=True),
        "layer": nn.TransformerEncoderLayer(C, 2, 16, batch_first=True),
        "crossed": nn.TransformerDecoderLayer(C, 2, 16, batch_first=True)})


def numbers():
    shapes = {"x": (2, 5, C), "y": (2, 5, C), "memory": (2, 7, C), "rows": (2, 7, 6), "image": (2, 3, 8, 8), "bias": (5, 5),
              **{name: (2, 2, 5, 4) for name in "qkv"}}
    return {**{name: torch.randn(shape) for name, shape in shapes.items()}, "ids": torch.randint(C, (2, 5)),
            "padding": torch.arange(5) >= torch.tensor([[5], [3]]), "mask": torch.rand(5, 5) + torch.eye(5) < 0.4}


def weights_of(model):
    """The state dict with the convolutions' channels last, and with a bias for each projection of `wide`."""
    state = channels_last(model.state_dict(), "conv", "patch")
    parts = state.pop("wide.in_proj_bias").chunk(3)
    return {**state, **{f"wide.{role}_proj_bias": part for role, part in zip("qkv", parts)}}


def code_of_rows():
    """The code in the first two cells of each row."""
    tables = PAGE.read_text().split("## What each construct becomes")[1].split("## Beyond single expressions")[0]
    for line in re.findall(r"^\| `.*", tables, re.M):
        row = re.fullmatch(r"\| `([^`]+)` \| `([^`]+)` \|[^|]*\|", line)
        if row is None:
            raise ValueError(f"not two cells of code and one of text: {line}")
        yield row.groups()


def attention(q, k, v, attn_mask=None):
    """functional.scaled_dot_product_attention, which PyTorch has since 2.0."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    return (scores if attn_mask is None else scores.masked_fill(~attn_mask, float("-inf"))).softmax(-1) @ v


def listed(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def port():
    model, given = ready(modules()), numbers()
    g = heed.Graph()
    dtypes = {torch.float32: "f32", torch.int64: "i32", torch.bool: "u8"}
    in_torch = {"torch": torch, "F": types.SimpleNamespace(**{"scaled_dot_product_attention": attention, **vars(functional)}),
                "subsequent": nn.Transformer.generate_square_subsequent_mask, **given, **model}
    in_heed = {"heed": heed, "g": g, "C": C, "two_heads": heed.nn.MultiHeadOptions(heads=2),
               "hidden": heed.nn.FeedForwardOptions(hidden=16),
               "apart": heed.nn.AttentionNames(q="q_proj_", k="k_proj_", v="v_proj_", out="out_proj"),
               **{name: g.input(name, a.shape, dtypes[a.dtype]) for name, a in given.items()}}
    expected = {}
    for of_torch, of_heed in code_of_rows():
        results, ports = listed(eval(of_torch, in_torch)), listed(eval(of_heed, in_heed))
        assert len(results) == len(ports), of_torch
        for i, (result, tensor) in enumerate(zip(results, ports)):
            name = f"{of_torch} [{i}]"
            g.output(name, tensor)
            expected[name] = result if result.ndim else result.reshape(1)
    inputs = {name: a.int() if a.dtype == torch.int64 else a for name, a in given.items()}
    return Port(g, weights_of(model), inputs, expected)


PORTS = {"table": port}
