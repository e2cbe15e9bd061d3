"""torch.nn.Transformer between embeddings with sinusoidal positions and a linear layer: token ids in, logits out."""

import math

import torch
from torch import nn

import heed
from port import Port, ready

VOCABULARY, WIDTH, HEADS, HIDDEN, LAYERS = 50, 64, 4, 128, 2


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.transformer = nn.Transformer(WIDTH, HEADS, LAYERS, LAYERS, HIDDEN, batch_first=True)
        self.out = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, source, target, padding):
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        y = self.transformer(self.source(source) + positions(source.shape[1]), self.target(target) + positions(target.shape[1]),
                             tgt_mask=causal, src_key_padding_mask=padding, memory_key_padding_mask=padding)
        return self.out(y)


def positions(length):
    """Sines and cosines [length, WIDTH] (Vaswani et al. 2017, section 3.5)."""
    rates = torch.exp(torch.arange(0, WIDTH, 2, dtype=torch.float64) * (-math.log(10000) / WIDTH))
    angles = torch.arange(length)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1).float()


def in_heed():
    g = heed.Graph()
    batch, words, written = g.extent("batch", 8), g.extent("words", 128), g.extent("written", 128)
    source = g.input("source", [batch, words], "i32")
    target = g.input("target", [batch, written], "i32")
    padding = heed.exclude(g.input("padding", [batch, words], "u8"))
    feed_forward = heed.nn.FeedForwardOptions(hidden=HIDDEN)
    # torch.nn.Transformer ends each stack with a norm, also with post-norm layers.
    memory = heed.nn.encoder_stack(
        embedded(g, "source", source), "transformer.encoder.layers", layers=LAYERS, final_norm="transformer.encoder.norm",
        attention=heed.nn.MultiHeadOptions(heads=HEADS, key_padding=padding), feed_forward=feed_forward)
    y = heed.nn.decoder_stack(
        embedded(g, "target", target), memory, "transformer.decoder.layers", layers=LAYERS, final_norm="transformer.decoder.norm",
        self_attention=heed.nn.MultiHeadOptions(heads=HEADS, causal="top_left"),
        cross_attention=heed.nn.MultiHeadOptions(heads=HEADS, key_padding=padding), feed_forward=feed_forward)
    g.output("logits", heed.nn.linear(y, "out", VOCABULARY))
    return g


def embedded(g, name, ids):
    table = g.weight(name + ".weight", [VOCABULARY, WIDTH])
    return g.positional_encoding(g.embedding(table, ids))


def port():
    module = ready(Translator())
    source, target = torch.randint(VOCABULARY, (3, 17)), torch.randint(VOCABULARY, (3, 11))
    padding = torch.arange(17) >= torch.tensor([[17], [9], [2]])
    logits = module(source, target, padding)
    # heed's integers have 32 bits.
    return Port(in_heed(), module.state_dict(), {"source": source.int(), "target": target.int(), "padding": padding}, {"logits": logits})


PORTS = {"encoder_decoder": port}
