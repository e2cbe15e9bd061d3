"""A vision transformer (Dosovitskiy et al. 2021, arXiv:2010.11929): patches by a strided convolution, a class token, learned
positions, pre-norm layers, and a head on the pooled class token."""

import torch
from torch import nn

import heed
from convolution import channels_last
from port import Port, ready

IMAGE, PATCH, WIDTH, HEADS, HIDDEN, LAYERS, CLASSES = 32, 8, 64, 4, 128, 2, 10
PATCHES = (IMAGE // PATCH) ** 2


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, stride=PATCH)
        self.class_token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.positions = nn.Parameter(torch.zeros(1, 1 + PATCHES, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, norm=nn.LayerNorm(WIDTH))
        self.pooler, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, image):  # [B, 3, H, W]
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], 1)
        x = self.encoder(x + self.positions)
        return self.head(self.pooler(x[:, 0]).tanh())


def in_heed():
    g = heed.Graph()
    batch = g.extent("batch", 8)
    image = g.input("image", [batch, IMAGE, IMAGE, 3])
    every = heed.WindowOptions(stride=PATCH)
    weight, bias = g.weight("patches.weight", [WIDTH, PATCH, PATCH, 3]), g.weight("patches.bias", [WIDTH])
    x = g.conv2d(image, weight, bias, rows=every, columns=every).reshape(batch, PATCHES, WIDTH)
    class_token = g.weight("class_token", [1, 1, WIDTH]).expand(batch, -1, -1)
    x = g.concat([class_token, x], 1) + g.weight("positions", [1, 1 + PATCHES, WIDTH])
    x = heed.nn.encoder_stack(
        x, "encoder.layers", layers=LAYERS, final_norm="encoder.norm", attention=heed.nn.MultiHeadOptions(heads=HEADS),
        feed_forward=heed.nn.FeedForwardOptions(hidden=HIDDEN, activation="gelu_erf"), norm=heed.nn.NormOptions("pre"))
    pooled = g.activation(heed.nn.linear(x[:, 0], "pooler", WIDTH), "tanh")
    g.output("logits", heed.nn.linear(pooled, "head", CLASSES))
    return g


def port():
    module = ready(Vit())
    image = torch.rand(2, 3, IMAGE, IMAGE)
    weights = channels_last(module.state_dict(), "patches")
    return Port(in_heed(), weights, {"image": image.permute(0, 2, 3, 1)}, {"logits": module(image)})


PORTS = {"vit": port}
