"""Convolutions and pools of ONNX, whose channels come before the axes of space, as calls of heed.Graph, where they come last."""

import heed

from node import No


def last_channels(n, x):
    """[N, C, ...] as [N, ..., C]."""
    rank = len(n.shape())
    if rank > 4:
        raise No("rank")
    return x.permute([0, *range(2, rank), 1])


def first_channels(y):
    rank = len(y.shape)
    return y.permute([0, rank - 1, *range(1, rank - 1)])


def windows_of(n, sizes):
    """heed's windows for each axis of space, and how many of the elements behind are there for ceil_mode alone."""
    count = len(sizes)
    strides, dilations = n.attribute("strides", [1] * count), n.attribute("dilations", [1] * count)
    pads, how = n.attribute("pads", [0] * 2 * count), n.attribute("auto_pad", b"NOTSET")
    windows, extra = [], []
    for i, size in enumerate(sizes):
        length, span = n.shape()[i + 2], (size - 1) * dilations[i] + 1
        before, behind = pads[i], pads[i + count]
        if how in (b"SAME_UPPER", b"SAME_LOWER"):
            missing = max((-(-length // strides[i]) - 1) * strides[i] + span - length, 0)
            before, behind = missing // 2, missing - missing // 2
            if how == b"SAME_LOWER":
                before, behind = behind, before
        more = 0
        if n.attribute("ceil_mode", 0):
            made = -(-(length + before + behind - span) // strides[i]) + 1
            if (made - 1) * strides[i] >= length + before:
                made -= 1  # a window of padding alone
            more = max((made - 1) * strides[i] + span - length - before - behind, 0)
        windows.append({"stride": strides[i], "before": before, "behind": behind + more, "dilation": dilations[i]})
        extra.append(more)
    return windows, extra


def conv(n):
    x, weight = last_channels(n, n.x(0)), n.x(1)
    weight = weight.permute([0, *range(2, len(n.shape())), 1])
    windows, _ = windows_of(n, n.shape(1)[2:])
    if len(windows) == 1:
        y = n.g.conv1d(x, weight, n.x(2), **windows[0])
    else:
        rows, columns = (heed.WindowOptions(**w) for w in windows)
        y = n.g.conv2d(x, weight, n.x(2), rows=rows, columns=columns)
    return first_channels(y)


def pool(kind):
    def call(n):
        if n.output_count > 1:
            raise No("attribute")  # indices of the largest
        sizes = n.attribute("kernel_shape")
        y, (windows, extra) = last_channels(n, n.x(0)), windows_of(n, sizes)
        for axis, (size, window, more) in enumerate(zip(sizes, windows, extra), 1):
            if n.attribute("count_include_pad", 0):
                y = n.g.pad(y, axis, window["before"], window["behind"] - more)
                window = {**window, "before": 0, "behind": more}
            y = n.g.pool(y, axis, size, kind, **window)
        return first_channels(y)
    return call


def length_pool(n):
    if n.attribute("p", 2) != 2:
        raise No("attribute")
    return pool("l2")(n)


WINDOWS = {"Conv": conv, "MaxPool": pool("max"), "AveragePool": pool("mean"), "LpPool": length_pool,
           "GlobalMaxPool": lambda n: n.g.reduce(n.x(0), "max", list(range(2, len(n.shape()))), True)}
