"""Family 002: one head at a time, without a batch, on weights [in, out] that are plain parameters: y = x W.

002.causal also returns its stages: the scores, the weights before the mask, those times a triangle, and the weights.
"""

import numpy as np

import heed
from case import named
from pytorch import nn, torch


# --- PyTorch -----------------------------------------------------------------------------------------------------------------

class Head(nn.Module):
    def __init__(self, width, d_k, d_v):
        super().__init__()
        self.d_k = d_k
        self.w_query = nn.Parameter(torch.empty(width, d_k))
        self.w_key = nn.Parameter(torch.empty(width, d_k))
        self.w_value = nn.Parameter(torch.empty(width, d_v))

    def scores(self, x, y):
        return (x @ self.w_query) @ (y @ self.w_key).T

    def forward(self, x, y):
        return (self.scores(x, y) / self.d_k ** 0.5).softmax(-1) @ (y @ self.w_value)


class CausalHead(Head):
    def forward(self, x):
        scores = self.scores(x, x)
        scaled = scores / self.d_k ** 0.5
        later = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights = scaled.masked_fill(later, float("-inf")).softmax(-1)
        full = scaled.softmax(-1)
        return weights @ (x @ self.w_value), weights, scores, full, full.tril()


class SideBySide(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads = nn.ModuleList(heads)

    def forward(self, x):
        return torch.cat([head(x, x) for head in self.heads], -1)


def sizes(case):
    return [case.number(n) for n in ("d_in", "d_out_kq", "d_out_v")]


def embedding_in_pytorch(case):
    table = case.tensor("embed.weight")
    return named(nn.functional.embedding(case.tensor("ids"), table), "expected")


def self_attention_in_pytorch(case):
    x = case.tensor("x")
    return named(case.load(Head(*sizes(case)))(x, x), "expected")


def cross_attention_in_pytorch(case):
    return named(case.load(Head(*sizes(case)))(case.tensor("x"), case.tensor("y")), "expected")


STAGES = "expected", "expected_attn", "expected_scores", "expected_attn_full", "expected_attn_masked"


def causal_in_pytorch(case):
    return named(case.load(CausalHead(*sizes(case)))(case.tensor("x")), *STAGES)


def side_by_side_in_pytorch(case):
    module = SideBySide(Head(*sizes(case)) for _ in range(case.number("num_heads")))
    return named(case.load(module)(case.tensor("x")), "expected")


# --- heed --------------------------------------------------------------------------------------------------------------------

IN_OUT = heed.nn.AttentionNames(q="w_query", k="w_key", v="w_value", in_out=True)


def head(case, **more):
    return heed.nn.MultiHeadOptions(d_k=case.number("d_out_kq"), d_v=case.number("d_out_v"), names=IN_OUT, **more)


def embedding_in_heed(case, g):
    ids = case.input(g, "ids", "bq")
    table = g.weight("embed.weight", [case.number("vocab"), case.number("dim")])
    return named(g.embedding(table, ids), "expected")


def self_attention_in_heed(case, g):
    x = case.input(g, "x", "qc")
    return named(heed.nn.attention(x, x, x, "", head(case)), "expected")


def cross_attention_in_heed(case, g):
    x, y = case.input(g, "x", "qc"), case.input(g, "y", "kc")
    return named(heed.nn.attention(x, y, y, "", head(case)), "expected")


def causal_in_heed(case, g):
    x = case.input(g, "x", "qc")
    options = head(case, causal="top_left", return_weights=case.return_weights)
    if not case.return_weights:
        return named(heed.nn.attention(x, x, x, "", options), "expected")
    y, weights = heed.nn.attention(x, x, x, "", options)

    d_in, d_k, _ = sizes(case)
    q, k = x @ g.weight("w_query", [d_in, d_k]), x @ g.weight("w_key", [d_in, d_k])
    scores = g.matmul(q, k, transpose_b=True)
    full = g.softmax(scores, scale=d_k ** -0.5)
    length = case.arrays["x"].shape[0]
    triangle = case.input(g, "triangle", "qq", np.tri(length, dtype=np.float32))
    return named((y, g.select(weights, 0, 0), scores, full, full * triangle), *STAGES)


def side_by_side_in_heed(case, g):
    x = case.input(g, "x", "qc")
    heads = [heed.nn.attention(x, x, x, f"heads.{i}", head(case)) for i in range(case.number("num_heads"))]
    return named(g.concat(heads, -1), "expected")


SYSTEMS = {
    "002.embedding": (embedding_in_pytorch, embedding_in_heed),
    "002.self_attention": (self_attention_in_pytorch, self_attention_in_heed),
    "002.cross_attention": (cross_attention_in_pytorch, cross_attention_in_heed),
    "002.causal": (causal_in_pytorch, causal_in_heed),
    "002.mha_wrapper": (side_by_side_in_pytorch, side_by_side_in_heed),
}
