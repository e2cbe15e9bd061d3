"""Family 001: post-norm transformer layers. Masks are 0 for padded keys, whose scores become -1e9.

So a query without visible keys attends to all keys equally, also to those that causality hides. Projections have no bias, and
values may have another width than queries and keys.
"""

import heed
from case import named
from pytorch import nn


# --- PyTorch -----------------------------------------------------------------------------------------------------------------

def scaled_dot_product(q, k, v, temperature, mask=None):
    scores = (q / temperature) @ k.transpose(2, 3)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, heads, width, d_k, d_v, eps):
        super().__init__()
        self.heads, self.d_k = heads, d_k
        self.w_qs = nn.Linear(width, heads * d_k, bias=False)
        self.w_ks = nn.Linear(width, heads * d_k, bias=False)
        self.w_vs = nn.Linear(width, heads * d_v, bias=False)
        self.fc = nn.Linear(heads * d_v, width, bias=False)
        self.layer_norm = nn.LayerNorm(width, eps)

    def forward(self, q, k, v, mask=None):
        heads = [w(t).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                 for w, t in ((self.w_qs, q), (self.w_ks, k), (self.w_vs, v))]
        y, weights = scaled_dot_product(*heads, self.d_k ** 0.5, None if mask is None else mask.unsqueeze(1))
        return self.layer_norm(self.fc(y.transpose(1, 2).flatten(2)) + q), weights


class FeedForward(nn.Module):
    def __init__(self, width, hidden, eps):
        super().__init__()
        self.w_1 = nn.Linear(width, hidden)
        self.w_2 = nn.Linear(hidden, width)
        self.layer_norm = nn.LayerNorm(width, eps)

    def forward(self, x):
        return self.layer_norm(self.w_2(self.w_1(x).relu()) + x)


class EncoderLayer(nn.Module):
    def __init__(self, width, hidden, heads, d_k, d_v, eps):
        super().__init__()
        self.slf_attn = MultiHeadAttention(heads, width, d_k, d_v, eps)
        self.pos_ffn = FeedForward(width, hidden, eps)

    def forward(self, x, mask=None):
        y, weights = self.slf_attn(x, x, x, mask)
        return self.pos_ffn(y), weights


class DecoderLayer(nn.Module):
    def __init__(self, width, hidden, heads, d_k, d_v, eps):
        super().__init__()
        self.slf_attn = MultiHeadAttention(heads, width, d_k, d_v, eps)
        self.enc_attn = MultiHeadAttention(heads, width, d_k, d_v, eps)
        self.pos_ffn = FeedForward(width, hidden, eps)

    def forward(self, x, memory, self_mask=None, cross_mask=None):
        y, own = self.slf_attn(x, x, x, self_mask)
        y, crossed = self.enc_attn(y, memory, memory, cross_mask)
        return self.pos_ffn(y), own, crossed


class Stack(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x, *others):
        for layer in self.layers:
            x, *weights = layer(x, *others)
        return x, *weights


def layer_sizes(case):
    return [case.number(n) for n in ("d_model", "d_inner", "n_head", "d_k", "d_v")] + [case.real("eps")]


def sdpa_in_pytorch(case):
    q, k, v = (case.tensor(n) for n in "qkv")
    return named(scaled_dot_product(q, k, v, case.real("temperature"), case.tensor("mask")), "expected", "expected_attn")


def mha_in_pytorch(case):
    module = MultiHeadAttention(*(case.number(n) for n in ("n_head", "d_model", "d_k", "d_v")), case.real("eps"))
    return named(case.load(module)(*(case.tensor(n) for n in ("q", "k", "v", "mask"))), "expected", "expected_attn")


def ffn_in_pytorch(case):
    module = case.load(FeedForward(case.number("d_in"), case.number("d_hid"), case.real("eps")))
    return named(module(case.tensor("x")), "expected")


def encoder_layer_in_pytorch(case):
    module = case.load(EncoderLayer(*layer_sizes(case)))
    return named(module(case.tensor("x"), case.tensor("mask")), "expected", "expected_attn")


def decoder_layer_in_pytorch(case):
    module = case.load(DecoderLayer(*layer_sizes(case)))
    results = module(*(case.tensor(n) for n in ("x", "y", "self_mask", "cross_mask")))
    return named(results, "expected", "expected_self_attn", "expected_cross_attn")


def encoder_stack_in_pytorch(case):
    module = case.load(Stack(EncoderLayer(*layer_sizes(case)) for _ in range(case.number("n_layers"))))
    return named(module(case.tensor("x"), case.tensor("mask")), "expected", "weights")


def decoder_stack_in_pytorch(case):
    module = case.load(Stack(DecoderLayer(*layer_sizes(case)) for _ in range(case.number("n_layers"))))
    results = module(*(case.tensor(n) for n in ("x", "y", "self_mask", "cross_mask")))
    return named(results, "expected", "weights", "weights_crossed")


# --- heed --------------------------------------------------------------------------------------------------------------------

def attention(case, mask):
    """Options of one attention. A mask [B, 1 or S_q, S_kv] gets an axis of size 1 for the heads."""
    if mask is not None:
        mask = heed.keep(mask.reshape(mask.shape[0], 1, mask.shape[1], mask.shape[2]))
    return heed.nn.MultiHeadOptions(
        heads=case.number("n_head"), d_k=case.number("d_k"), d_v=case.number("d_v"), bias=False, out_bias=False,
        names=heed.nn.AttentionNames(q="w_qs", k="w_ks", v="w_vs", out="fc"),
        mask=mask, masked_fill=-1e9, return_weights=case.return_weights)


def post_norm(case):
    return heed.nn.NormOptions(placement="post", eps=case.real("eps"))


def feed_forward(hidden):
    return heed.nn.FeedForwardOptions(hidden=hidden, activation="relu", first="w_1", second="w_2")


OWN = heed.nn.AttentionBlockNames(attention="slf_attn", norm="slf_attn.layer_norm")
CROSSED = heed.nn.AttentionBlockNames(attention="enc_attn", norm="enc_attn.layer_norm")
HIDDEN = heed.nn.FeedForwardBlockNames(feed_forward="pos_ffn", norm="pos_ffn.layer_norm")


def encoder_layer(case, g):
    return heed.nn.EncoderLayerOptions(
        attention=attention(case, case.input(g, "mask", "bqq")), attention_names=OWN,
        feed_forward=feed_forward(case.number("d_inner")), feed_forward_names=HIDDEN, norm=post_norm(case))


def decoder_layer(case, g):
    return heed.nn.DecoderLayerOptions(
        self_attention=attention(case, case.input(g, "self_mask", "bqq")), self_names=OWN,
        cross_attention=attention(case, case.input(g, "cross_mask", "bqk")), cross_names=CROSSED,
        feed_forward=feed_forward(case.number("d_inner")), feed_forward_names=HIDDEN, norm=post_norm(case))


def sdpa_in_heed(case, g):
    q, k, v = case.input(g, "q", "bhqd"), case.input(g, "k", "bhkd"), case.input(g, "v", "bhke")
    mask = case.input(g, "mask", "bhqk")
    result = g.attention(q, k, v, scale=1 / case.real("temperature"), mask=None if mask is None else heed.keep(mask),
                         masked_fill=-1e9, return_weights=case.return_weights)
    return named((result.output, result.weights), "expected", "expected_attn")


def mha_in_heed(case, g):
    q, k, v = case.input(g, "q", "bqc"), case.input(g, "k", "bkc"), case.input(g, "v", "bkc")
    options = attention(case, case.input(g, "mask", "bqk"))
    names = heed.nn.AttentionBlockNames(attention="", norm="layer_norm")
    return named(heed.nn.attention_block(q, k, v, "", names, options, post_norm(case)), "expected", "expected_attn")


def ffn_in_heed(case, g):
    names = heed.nn.FeedForwardBlockNames(norm="layer_norm")
    x = case.input(g, "x", "bqc")
    return named(heed.nn.feed_forward_block(x, "", names, feed_forward(case.number("d_hid")), post_norm(case)), "expected")


def encoder_layer_in_heed(case, g):
    x = case.input(g, "x", "bqc")
    return named(heed.nn.encoder_layer(x, "", encoder_layer(case, g)), "expected", "expected_attn")


def decoder_layer_in_heed(case, g):
    x, y = case.input(g, "x", "bqc"), case.input(g, "y", "bkc")
    results = heed.nn.decoder_layer(x, y, "", decoder_layer(case, g))
    return named(results, "expected", "expected_self_attn", "expected_cross_attn")


def encoder_stack_in_heed(case, g):
    x = case.input(g, "x", "bqc")
    y = heed.nn.encoder_stack(x, "layers", encoder_layer(case, g), layers=case.number("n_layers"))
    return named(y, "expected", "weights")


def decoder_stack_in_heed(case, g):
    x, y = case.input(g, "x", "bqc"), case.input(g, "y", "bkc")
    y = heed.nn.decoder_stack(x, y, "layers", decoder_layer(case, g), layers=case.number("n_layers"))
    return named(y, "expected", "weights", "weights_crossed")


SYSTEMS = {
    "001.sdpa": (sdpa_in_pytorch, sdpa_in_heed),
    "001.mha": (mha_in_pytorch, mha_in_heed),
    "001.ffn": (ffn_in_pytorch, ffn_in_heed),
    "001.encoder_layer": (encoder_layer_in_pytorch, encoder_layer_in_heed),
    "001.decoder_layer": (decoder_layer_in_pytorch, decoder_layer_in_heed),
    "001.encoder_stack": (encoder_stack_in_pytorch, encoder_stack_in_heed),
    "001.decoder_stack": (decoder_stack_in_pytorch, decoder_stack_in_heed),
}
