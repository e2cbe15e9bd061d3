"""Family 000: attention with fused projections. Masks [B, S] are true for padded keys.

One weight `wqkv` has the rows of queries, keys and values. If keys come from another sequence, `wq` has the queries and `wkv` keys
and values. The three flavours of attention are one function with different options.
"""

import math

import heed
from case import named
from pytorch import nn, torch


# --- PyTorch -----------------------------------------------------------------------------------------------------------------

class Attention(nn.Module):
    def __init__(self, width, heads, head_size, bias, causal=False, cross=False):
        super().__init__()
        self.heads, self.causal, self.cross = heads, causal, cross
        inner = heads * head_size
        if cross:
            self.wq = nn.Linear(width, inner, bias)
            self.wkv = nn.Linear(width, 2 * inner, bias)
        else:
            self.wqkv = nn.Linear(width, 3 * inner, bias)
        self.wo = nn.Linear(inner, width, bias)

    def forward(self, x, y=None, mask=None):
        if self.cross:
            q, (k, v) = self.wq(x), self.wkv(y).chunk(2, -1)
        else:
            q, k, v = self.wqkv(x).chunk(3, -1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))  # [B, H, S, d]
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, None, :], -math.inf)
        if self.causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -math.inf)
        weights = scores.softmax(-1)
        return self.wo((weights @ v).transpose(1, 2).flatten(2)), weights


def in_pytorch(case):
    width, cross = case.number("hidden_size"), "wq.weight" in case
    heads = 1 if case.system == "000.single_head" else case.number("num_heads")
    head_size = case.number("head_size") if case.system == "000.single_head" else width // heads
    module = case.load(Attention(width, heads, head_size, "wo.bias" in case, "causal" in case.system, cross))
    return named(module(case.tensor("x"), case.tensor("y"), case.tensor("mask")), "expected", "weights")


# --- heed --------------------------------------------------------------------------------------------------------------------

def in_heed(case, g):
    x = case.input(g, "x", "bqc")
    bias = "wo.bias" in case
    if case.system == "000.single_head":
        y = heed.nn.self_attention(x, "", heads=1, d_k=case.number("head_size"), bias=bias, out_bias=bias)
        return named(y, "expected")

    cross = "wq.weight" in case
    context = case.input(g, "y", "bkc") if cross else x
    mask = case.input(g, "mask", "bk" if cross else "bq")
    options = heed.nn.MultiHeadOptions(
        heads=case.number("num_heads"), bias=bias, out_bias=bias,
        causal="top_left" if "causal" in case.system else None,
        key_padding=None if mask is None else heed.exclude(mask),
        attention_dropout=case.real("attn_drop") if case.system == "000.mha_dropout" else 0,  # acts in training only
        return_weights=case.return_weights)
    if cross:
        return named(heed.nn.cross_attention(x, context, "", options), "expected", "weights")
    return named(heed.nn.self_attention(x, "", options), "expected", "weights")


SYSTEMS = {f"000.{name}": (in_pytorch, in_heed) for name in
           ("single_head", "mha", "mha_dropout", "bidirectional", "causal", "cross", "causal_cross")}
