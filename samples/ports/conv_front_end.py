"""The front end of Whisper's encoder (Radford et al. 2022, arXiv:2212.04356): two convolutions over a spectrogram, of which the second
halves its length, then positions and an encoder layer."""

import torch
from torch import nn

import heed
from convolution import channels_last, conv1d
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


def in_heed():
    g = heed.Graph()
    x = g.input("bands", [g.extent("batch", 8), FRAMES, BANDS])
    x = g.activation(conv1d(g, x, "conv1", WIDTH, 3, padding=1), "gelu_erf")
    x = g.activation(conv1d(g, x, "conv2", WIDTH, 3, stride=2, padding=1), "gelu_erf")
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
