"""A block of T5's encoder (Raffel et al. 2020, arXiv:1910.10683) under the names of its checkpoints: RMSNorm, attention without a
scale and with a bias for each distance, and a gated GELU. No linear layer has a bias."""

import numpy as np
import torch
from torch import nn

import heed
from port import Port, ready

WIDTH, HEADS, HEAD_WIDTH, HIDDEN, EPS = 64, 4, 24, 128, 1e-6
BUCKETS, FARTHEST, LONGEST = 32, 128, 256


def buckets(length):
    """The bucket of each key's distance from each query, i32 [length, length]: one for each small distance, wider ones up to
    FARTHEST, and as many again for keys after the query. The table is computed on the host, since logarithms at bucket edges may
    round differently on two devices."""
    distance = np.arange(length)[None, :] - np.arange(length)[:, None]
    half, exact = BUCKETS // 2, BUCKETS // 4
    far = exact + np.log(np.maximum(abs(distance), 1) / exact) / np.log(FARTHEST / exact) * (half - exact)
    return (half * (distance > 0) + np.where(abs(distance) < exact, abs(distance), np.minimum(far, half - 1))).astype(np.int32)


# --- PyTorch -----------------------------------------------------------------------------------------------------------------


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS)


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, HEADS * HEAD_WIDTH, bias=False) for _ in "qkv")
        self.o = nn.Linear(HEADS * HEAD_WIDTH, WIDTH, bias=False)
        self.relative_attention_bias = nn.Embedding(BUCKETS, HEADS)

    def forward(self, x):
        q, k, v = (layer(x).unflatten(-1, (HEADS, HEAD_WIDTH)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        bias = self.relative_attention_bias(torch.from_numpy(buckets(x.shape[1]))).permute(2, 0, 1)
        weights = (q @ k.transpose(-1, -2) + bias).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2))


class GatedGelu(nn.Module):
    def __init__(self):
        super().__init__()
        self.wi_0, self.wi_1 = nn.Linear(WIDTH, HIDDEN, bias=False), nn.Linear(WIDTH, HIDDEN, bias=False)
        self.wo = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.wo(nn.functional.gelu(self.wi_0(x), approximate="tanh") * self.wi_1(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ModuleList([nn.ModuleDict({"layer_norm": RmsNorm(), "SelfAttention": SelfAttention()}),
                                    nn.ModuleDict({"layer_norm": RmsNorm(), "DenseReluDense": GatedGelu()})])

    def forward(self, x):
        for part in self.layer:
            norm, inner = part.values()
            x = x + inner(norm(x))
        return x


# --- heed --------------------------------------------------------------------------------------------------------------------


def in_heed():
    g = heed.Graph()
    batch, tokens = g.extent("batch", 8), g.extent("tokens", LONGEST)
    x = g.input("x", [batch, tokens, WIDTH])
    table = g.weight("layer.0.SelfAttention.relative_attention_bias.weight", [BUCKETS, HEADS])
    of_pairs = g.constant("buckets", buckets(LONGEST))[:tokens, :tokens]
    bias = g.embedding(table, of_pairs).permute(2, 0, 1)  # [heads, queries, keys], the same for the whole batch
    attention = heed.nn.MultiHeadOptions(
        heads=HEADS, d_k=HEAD_WIDTH, names=heed.nn.AttentionNames(q="q", k="k", v="v", out="o"), bias=False, out_bias=False,
        scale=1.0, score_bias=bias)
    norm = heed.nn.NormOptions("pre", EPS, "rms")
    x = heed.nn.attention_block(x, x, x, "layer.0", heed.nn.AttentionBlockNames("SelfAttention", "layer_norm"), attention, norm)
    feed_forward = heed.nn.FeedForwardOptions(hidden=HIDDEN, activation="gelu_tanh", gate="wi_0", first="wi_1", second="wo", bias=False)
    x = heed.nn.feed_forward_block(x, "layer.1", heed.nn.FeedForwardBlockNames("DenseReluDense", "layer_norm"), feed_forward, norm)
    g.output("y", x)
    return g


def port():
    module = ready(Block())
    x = torch.randn(2, 150, WIDTH)  # longer than FARTHEST
    return Port(in_heed(), module.state_dict(), {"x": x}, {"y": module(x)})


PORTS = {"t5": port}
