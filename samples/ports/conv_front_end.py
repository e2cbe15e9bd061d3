"""The front end of Whisper's encoder (Radford et al. 2022, arXiv:2212.04356): two convolutions over a spectrogram, of which the second
halves its length, then positions and an encoder layer."""

import torch
from torch import nn

import heed
from convolution import channels_last
from port import Port, ready

BANDS, FRAMES, WIDTH, HEADS, HIDDEN = 20, 50, 64, 4, 128


class FrontEnd(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(BANDS, WIDTH, 3, padding=1)
        self.conv2 = nn.Conv1d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.positions = nn.Parameter(torch.randn(FRAMES // 2, WIDTH))
        self.layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, activation="gelu", batch_first=True, norm_first=True)

    def forward(self, bands):  # [B, BANDS, FRAMES]
        x = nn.functional.gelu(self.conv1(bands))
        x = nn.functional.gelu(self.conv2(x))
        return self.layer(x.transpose(1, 2) + self.positions)


def convolution(g, x, name, stride):
    weight, bias = g.weight(name + ".weight", [WIDTH, 3, x.shape[-1]]), g.weight(name + ".bias", [WIDTH])
    return g.activation(g.conv1d(x, weight, bias, stride=stride, before=1, behind=1), "gelu_erf")


def in_heed():
    g = heed.Graph()
    x = g.input("bands", [g.extent("batch", 8), FRAMES, BANDS])
    x = convolution(g, convolution(g, x, "conv1", stride=1), "conv2", stride=2)
    x = heed.nn.encoder_layer(
        x + g.weight("positions", [FRAMES // 2, WIDTH]), "layer", attention=heed.nn.MultiHeadOptions(heads=HEADS),
        feed_forward=heed.nn.FeedForwardOptions(hidden=HIDDEN, activation="gelu_erf"), norm=heed.nn.NormOptions("pre"))
    g.output("y", x)
    return g


def port():
    module = ready(FrontEnd())
    bands = torch.randn(2, BANDS, FRAMES)
    weights = channels_last(module.state_dict(), "conv1", "conv2")
    return Port(in_heed(), weights, {"bands": bands.transpose(1, 2)}, {"y": module(bands)})


PORTS = {"conv_front_end": port}
