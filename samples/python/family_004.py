"""Family 004: torch.nn.MultiheadAttention inside an encoder-decoder transformer. Masks are true for padded keys.

Linear layers precede each attention: two for each of query, key and value, or one in a decoder's second attention. Layers are
post-norm. The transformer reads embedded tokens, and padding is where an id is `pad_token_id`.
"""

import math

import numpy as np

import heed
from case import named
from pytorch import nn, torch


# --- PyTorch -----------------------------------------------------------------------------------------------------------------

class InProj(nn.Module):
    """torch.nn.MultiheadAttention, whose in_proj_weight is in_proj.weight in the files."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, q, k, v, padding=None, mask=None):
        y, weights = nn.functional.multi_head_attention_forward(
            *(t.transpose(0, 1) for t in (q, k, v)), q.shape[-1], self.heads, self.in_proj.weight, self.in_proj.bias,
            None, None, False, 0.0, self.out_proj.weight, self.out_proj.bias, training=False,
            key_padding_mask=padding, attn_mask=mask, average_attn_weights=False)
        return y.transpose(0, 1), weights


class Streams(nn.Module):
    """Linear layers for each of query, key and value."""

    def __init__(self, width, twice):
        super().__init__()
        self.twice = twice
        for name in ("q", "k", "v") if twice else ():
            setattr(self, name, nn.Linear(width, width))
        for name in ("qa", "ka", "va"):
            setattr(self, name, nn.Linear(width, width))

    def forward(self, q, k, v):
        if self.twice:
            q, k, v = self.q(q), self.k(k), self.v(v)
        return self.qa(q), self.ka(k), self.va(v)


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear_in = nn.Linear(width, 4 * width)
        self.linear_out = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.linear_out(self.linear_in(x).relu())


class Encoder(nn.Module):
    def __init__(self, width, heads, eps):
        super().__init__()
        self.qkv = Streams(width, twice=True)
        self.mha = InProj(width, heads)
        self.ffn = FeedForward(width)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)

    def forward(self, x, padding=None):
        y, weights = self.mha(*self.qkv(x, x, x), padding)
        x = self.norm1(x + y)
        return self.norm2(x + self.ffn(x)), weights


class Decoder(nn.Module):
    def __init__(self, width, heads, eps):
        super().__init__()
        self.qkv1, self.qkv2 = Streams(width, twice=True), Streams(width, twice=False)
        self.masked_mha, self.cross_mha = InProj(width, heads), InProj(width, heads)
        self.ffn = FeedForward(width)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(width, eps) for _ in range(3))

    def forward(self, x, memory, causal, padding=None, memory_padding=None):
        y, own = self.masked_mha(*self.qkv1(x, x, x), padding, causal)
        x = self.norm1(x + y)
        y, crossed = self.cross_mha(*self.qkv2(x, memory, memory), memory_padding)
        x = self.norm2(x + y)
        return self.norm3(x + self.ffn(x)), own, crossed


class Transformer(nn.Module):
    def __init__(self, width, heads, eps, layers, vocabulary):
        super().__init__()
        self.encoders = nn.ModuleList(Encoder(width, heads, eps) for _ in range(layers))
        self.decoders = nn.ModuleList(Decoder(width, heads, eps) for _ in range(layers))
        self.out = nn.Linear(width, vocabulary)

    def forward(self, x, y, x_padding, y_padding):
        causal = torch.ones(y.shape[1], y.shape[1], dtype=torch.bool).triu(1)
        x, y = x + encoding(*x.shape[1:]), y + encoding(*y.shape[1:])
        embedded = y
        for layer in self.encoders:
            x = layer(x, x_padding)[0]
        for layer in self.decoders:
            y, own, crossed = layer(y, x, causal, y_padding, x_padding)
        seed_wiring = self.decoders[-1](embedded, x, causal, y_padding, x_padding)[0]  # as if each layer read the embedded target
        logits = self.out(y)
        return logits.softmax(-1), logits, x, y, seed_wiring, own, crossed


def encoding(length, width):
    """Sines and cosines of the position (Vaswani et al. 2017, section 3.5): [length, width], in f64 and then rounded."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    angles = position * torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1).float()


def layer_sizes(case):
    return case.number("d_model"), case.number("num_heads"), case.real("eps")


def positional_encoding_in_pytorch(case):
    x = case.tensor("x")
    return named((x + encoding(*x.shape[1:]), encoding(case.number("max_len"), case.number("d_model"))),
                 "expected", "expected_pe")


def qkv_in_pytorch(case):
    module = case.load(Streams(case.number("d_model"), "q.weight" in case))
    inputs = [case.tensor(n) for n in ("xxx" if "x" in case else "qkv")]
    return named(module(*inputs), "expected_q", "expected_k", "expected_v")


def ffn_in_pytorch(case):
    return named(case.load(FeedForward(case.number("d_model")))(case.tensor("x")), "expected")


def torch_mha_in_pytorch(case):
    module = case.load(InProj(case.number("embed_dim"), case.number("num_heads")))
    y, weights = module(*(case.tensor(n) for n in ("q", "k", "v", "key_padding_mask", "attn_mask")))
    return named((y, weights.mean(1), weights), "expected", "expected_attn", "weights")


def encoder_in_pytorch(case):
    return named(case.load(Encoder(*layer_sizes(case)))(case.tensor("x"), case.tensor("pad_mask")), "expected", "weights")


def decoder_in_pytorch(case):
    module = case.load(Decoder(*layer_sizes(case)))
    results = module(*(case.tensor(n) for n in ("y", "enc_out", "causal_mask", "pad_mask", "enc_pad_mask")))
    return named(results, "expected", "weights", "weights_crossed")


TRANSFORMED = ("expected", "expected_logits", "expected_enc_out", "expected_dec_out", "expected_seed_wiring", "weights",
               "weights_crossed")


def transformer_in_pytorch(case):
    module = case.load(Transformer(*layer_sizes(case), case.number("n_layers"), case.number("vocab")))
    padding = [case.tensor(n) == case.number("pad_token_id") for n in ("x_ids", "y_ids")]
    return named(module(case.tensor("x"), case.tensor("y"), *padding), *TRANSFORMED)


# --- heed --------------------------------------------------------------------------------------------------------------------

FEED_FORWARD = heed.nn.FeedForwardOptions(activation="relu", first="linear_in", second="linear_out")


def excluded(mask):
    return None if mask is None else heed.exclude(mask)


def attention(case, padding=None, mask=None, **more):
    return heed.nn.MultiHeadOptions(heads=case.number("num_heads"), key_padding=excluded(padding), mask=excluded(mask),
                                    names=heed.nn.AttentionNames(qkv="in_proj", out="out_proj"),
                                    return_weights=case.return_weights, **more)


def post_norm(case):
    return heed.nn.NormOptions(placement="post", eps=case.real("eps"))


def streams(case, inputs, prefix):
    """Linear layers before an attention, two for each of query, key and value, or one: .q, .k, .v, then .qa, .ka, .va."""
    for end in ("", "a"):
        names = [prefix + role + end for role in "qkv"]
        if names[0] + ".weight" in case:
            inputs = [heed.nn.linear(x, name, case.number("d_model")) for x, name in zip(inputs, names)]
    return inputs


def attention_block(case, x, memory, layer, names, options):
    """The block's output, and its weights if requested. `names`: of its inputs, attention and norm."""
    before, attended, norm = (layer + name for name in names)
    y = heed.nn.attention(*streams(case, [x, memory, memory], before + "."), attended, options)
    y, weights = y if case.return_weights else (y, None)
    return heed.nn.layernorm(x + y, norm, case.real("eps")), weights


def hidden_block(case, x, layer, norm):
    names = heed.nn.FeedForwardBlockNames(feed_forward="ffn", norm=norm)
    return heed.nn.feed_forward_block(x, layer[:-1], names, FEED_FORWARD, post_norm(case))


def encoder(case, x, layer, options):
    """A layer whose names begin with `layer`, which is empty or ends in a dot."""
    x, weights = attention_block(case, x, x, layer, ("qkv", "mha", "norm1"), options)
    return hidden_block(case, x, layer, "norm2"), weights


def decoder(case, x, memory, layer, own_options, crossed_options):
    x, own = attention_block(case, x, x, layer, ("qkv1", "masked_mha", "norm1"), own_options)
    x, crossed = attention_block(case, x, memory, layer, ("qkv2", "cross_mha", "norm2"), crossed_options)
    return hidden_block(case, x, layer, "norm3"), own, crossed


def positional_encoding_in_heed(case, g):
    y = g.positional_encoding(case.input(g, "x", "bqc"))
    zeros = g.constant("zeros", np.zeros((case.number("max_len"), case.number("d_model")), np.float32))
    return named((y, g.positional_encoding(zeros)), "expected", "expected_pe")


def qkv_in_heed(case, g):
    if "x" in case:
        inputs = [case.input(g, "x", "bqc")] * 3
    else:
        inputs = [case.input(g, "q", "bqc"), case.input(g, "k", "bkc"), case.input(g, "v", "bkc")]
    return named(tuple(streams(case, inputs, "")), "expected_q", "expected_k", "expected_v")


def ffn_in_heed(case, g):
    return named(heed.nn.feed_forward(case.input(g, "x", "bqc"), "", FEED_FORWARD), "expected")


def torch_mha_in_heed(case, g):
    q, k, v = case.input(g, "q", "bqc"), case.input(g, "k", "bkc"), case.input(g, "v", "bkc")
    options = attention(case, case.input(g, "key_padding_mask", "bk"), case.input(g, "attn_mask", "qk"))
    results = heed.nn.attention(q, k, v, "", options)
    if not case.return_weights:
        return named(results, "expected")
    y, weights = results
    return named((y, g.mean(weights, 1), weights), "expected", "expected_attn", "weights")  # PyTorch returns the mean over heads


def encoder_in_heed(case, g):
    x = case.input(g, "x", "bqc")
    return named(encoder(case, x, "", attention(case, case.input(g, "pad_mask", "bq"))), "expected", "weights")


def decoder_in_heed(case, g):
    y, memory = case.input(g, "y", "bqc"), case.input(g, "enc_out", "bkc")
    causal = case.input(g, "causal_mask", "qq")
    own = attention(case, case.input(g, "pad_mask", "bq"), causal)
    crossed = attention(case, case.input(g, "enc_pad_mask", "bk"))
    return named(decoder(case, y, memory, "", own, crossed), "expected", "weights", "weights_crossed")


def transformer_in_heed(case, g):
    x, y = case.input(g, "x", "bkc"), case.input(g, "y", "bqc")
    pad = case.number("pad_token_id")
    crossed = attention(case, case.input(g, "x_padding", "bk", case.arrays["x_ids"] == pad))
    own = attention(case, case.input(g, "y_padding", "bq", case.arrays["y_ids"] == pad), causal="top_left")
    x, embedded = g.positional_encoding(x), g.positional_encoding(y)
    layers = case.number("n_layers")
    for i in range(layers):
        x, _ = encoder(case, x, f"encoders.{i}.", crossed)
    y = embedded
    for i in range(layers):
        y, own_weights, crossed_weights = decoder(case, y, x, f"decoders.{i}.", own, crossed)
    wiring = decoder(case, embedded, x, f"decoders.{layers - 1}.", own, crossed)[0]
    logits = heed.nn.linear(y, "out", case.number("vocab"))
    return named((g.softmax(logits), logits, x, y, wiring, own_weights, crossed_weights), *TRANSFORMED)


SYSTEMS = {
    "004.positional_encoding": (positional_encoding_in_pytorch, positional_encoding_in_heed),
    "004.qkv": (qkv_in_pytorch, qkv_in_heed),
    "004.ffn": (ffn_in_pytorch, ffn_in_heed),
    "004.torch_mha": (torch_mha_in_pytorch, torch_mha_in_heed),
    "004.encoder": (encoder_in_pytorch, encoder_in_heed),
    "004.decoder": (decoder_in_pytorch, decoder_in_heed),
    "004.transformer": (transformer_in_pytorch, transformer_in_heed),
}
