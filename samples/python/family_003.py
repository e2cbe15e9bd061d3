"""Family 003: from softmax(x x^T) x, without weights or scale, to causal multi-head attention on separate linear layers."""

import heed
from case import named
from pytorch import nn, torch


# --- PyTorch -----------------------------------------------------------------------------------------------------------------

def simplified(x):
    scores = x @ x.T
    weights = scores.softmax(-1)
    return weights @ x, weights, scores


class Attention(nn.Module):
    """x [B, S, d_in] or [S, d_in] -> [..., S, d_out]."""

    def __init__(self, d_in, d_out, heads, bias, causal, projected):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.w_query = nn.Linear(d_in, d_out, bias)
        self.w_key = nn.Linear(d_in, d_out, bias)
        self.w_value = nn.Linear(d_in, d_out, bias)
        if projected:
            self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (self.heads, -1)).transpose(-3, -2) for w in (self.w_query, self.w_key, self.w_value))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if self.causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
        weights = scores.softmax(-1)
        y = (weights @ v).transpose(-3, -2).flatten(-2)
        return (self.out_proj(y) if hasattr(self, "out_proj") else y), weights


def simplified_in_pytorch(case):
    return named(simplified(case.tensor("x")), "expected", "expected_attn", "expected_scores")


def module(case, heads, causal, projected=False):
    bias = "w_query.bias" in case
    return case.load(Attention(case.number("d_in"), case.number("d_out"), heads, bias, causal, projected))


def head_in_pytorch(case):
    y, weights = module(case, 1, case.system == "003.causal")(case.tensor("x"))
    return named((y, weights.squeeze(-3)), "expected", "expected_attn")


def mha_in_pytorch(case):
    return named(module(case, case.number("num_heads"), True, True)(case.tensor("x")), "expected", "weights")


# --- heed --------------------------------------------------------------------------------------------------------------------

def simplified_in_heed(case, g):
    x = case.input(g, "x", "qc")
    result = heed.nn.single_head(x, x, x, scale=1, return_weights=case.return_weights)
    return named((result.output, result.weights, g.matmul(x, x, transpose_b=True)),
                 "expected", "expected_attn", "expected_scores")


def options(case, heads, causal, **more):
    names = heed.nn.AttentionNames(q="w_query", k="w_key", v="w_value", out=more.pop("out", None))
    return heed.nn.MultiHeadOptions(heads=heads, d_k=case.number("d_out") // heads, names=names,
                                    bias="w_query.bias" in case, causal="top_left" if causal else None,
                                    return_weights=case.return_weights, **more)


def head_in_heed(case, g):
    x = case.input(g, "x", "bqc")
    results = heed.nn.attention(x, x, x, "", options(case, 1, case.system == "003.causal"))
    if not case.return_weights:
        return named(results, "expected")
    y, weights = results
    return named((y, g.select(weights, -3, 0)), "expected", "expected_attn")


def mha_in_heed(case, g):
    x = case.input(g, "x", "bqc")
    width = case.number("d_out")
    results = heed.nn.attention(x, x, x, "", options(case, case.number("num_heads"), True, out="out_proj", out_width=width))
    return named(results, "expected", "weights")


SYSTEMS = {
    "003.simplified": (simplified_in_pytorch, simplified_in_heed),
    "003.self_attention": (head_in_pytorch, head_in_heed),
    "003.causal": (head_in_pytorch, head_in_heed),
    "003.mha": (mha_in_pytorch, mha_in_heed),
}
