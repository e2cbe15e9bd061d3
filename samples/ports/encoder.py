"""torch.nn.TransformerEncoder with post-norm and with pre-norm layers."""

import torch
from torch import nn

import heed
from port import Port, ready

WIDTH, HEADS, HIDDEN, LAYERS = 64, 4, 128, 2


def in_pytorch(norm_first):
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, activation="gelu", batch_first=True, norm_first=norm_first)
    # Nested tensors would zero padded rows, in eval mode without gradients.
    return nn.TransformerEncoder(layer, LAYERS, norm=nn.LayerNorm(WIDTH), enable_nested_tensor=False)


def in_heed(placement):
    g = heed.Graph()
    # Both sizes may differ from run to run.
    batch, tokens = g.extent("batch", 8), g.extent("tokens", 128)
    x = g.input("x", [batch, tokens, WIDTH])
    padding = g.input("padding", [batch, tokens], "u8")
    y = heed.nn.encoder_stack(
        x, "layers", layers=LAYERS, final_norm="norm",
        attention=heed.nn.MultiHeadOptions(heads=HEADS, key_padding=heed.exclude(padding)),
        feed_forward=heed.nn.FeedForwardOptions(hidden=HIDDEN, activation="gelu_erf"),
        norm=heed.nn.NormOptions(placement))
    g.output("y", y)
    return g


def port(placement):
    module = ready(in_pytorch(norm_first=placement == "pre"))
    x = torch.randn(3, 19, WIDTH)
    padding = torch.arange(19) >= torch.tensor([[19], [12], [1]])  # True leaves a key out
    y = module(x, src_key_padding_mask=padding)
    return Port(in_heed(placement), module.state_dict(), {"x": x, "padding": padding}, {"y": y})


PORTS = {"encoder.post_norm": lambda: port("post"), "encoder.pre_norm": lambda: port("pre")}
