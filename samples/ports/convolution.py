"""Convolutions with the channels last, made of views and a linear layer."""

import torch


def conv1d(g, x, name, out, width, stride=1, padding=0):
    """x [B, T, C] -> [B, (T + 2 padding - width) / stride + 1, out]. T is a constant."""
    channels, length = x.shape[-1], x.shape[1]
    padded = g.pad(x, 1, padding, padding)
    last = length + 2 * padding - width  # where the last window may begin
    shifted = [padded[:, i:last + i + 1:stride] for i in range(width)]
    weight = g.weight(name + ".weight", [out, width, channels])
    return g.linear(g.concat(shifted, 2), weight.reshape(out, width * channels), g.weight(name + ".bias", [out]))


def patches(g, x, name, out, size):
    """A conv2d whose stride is the size of its window: x [B, H, W, C] -> [B, H / size * W / size, out], row by row."""
    batch, height, width, channels = x.shape
    rows, columns = height // size, width // size
    windows = x.reshape(batch * rows, size, columns, size * channels).transpose(1, 2)
    weight = g.weight(name + ".weight", [out, size, size, channels])
    return g.linear(windows.reshape(batch, rows * columns, size * size * channels), weight.reshape(out, size * size * channels),
                    g.weight(name + ".bias", [out]))


def channels_last(state_dict, *names):
    """A state dict in which the weights of these convolutions are [out, k, in] or [out, kh, kw, in] instead of [out, in, k...]."""
    return {**state_dict, **{f"{name}.weight": torch.movedim(state_dict[f"{name}.weight"], 1, -1) for name in names}}
