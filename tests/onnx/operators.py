"""ONNX's operators as calls of heed.Graph: one entry each, by which run.py expresses the standard's tests.

An entry takes a Node and returns a tensor, or a list of them in the order of the node's outputs. What it cannot express raises No with one
word: "type", "rank", "attribute", or "shape" (sizes that are 0, or known only at a run).
"""

import functools
import operator

import numpy as np

import heed

from node import No, TYPES
from windows import WINDOWS

INFINITY = float("inf")


# --- Of elements -----------------------------------------------------------------------------------------------------------

def of_two(call):
    """Operands that broadcast, each an input."""
    return lambda n: call(n.g, n.x(0), n.x(1))


def of_all(call):
    return lambda n: functools.reduce(lambda a, b: call(n.g, a, b), n.all())


def of_one(call, **defaults):
    """A function of one input and of attributes with these defaults."""
    return lambda n: call(n.g, n.x(0), *[n.attribute(name, value) for name, value in defaults.items()])


def clip(n):
    y = n.x(0)
    for i, call in ((1, n.g.maximum), (2, n.g.minimum)):
        y = call(y, n.x(i)) if n.has(i) else y
    return y


def modulo(n):
    a, b = n.x(0), n.x(1)
    if n.attribute("fmod", 0) == 0:
        return n.g.mod(a, b)
    return n.g.sign(a) * n.g.mod(abs(a), abs(b))


def power(n):
    base, exponent = n.x(0), n.x(1)
    return base ** (exponent if exponent.dtype == base.dtype else n.g.cast(exponent, base.dtype))


def cast(n, to):
    if to not in TYPES:
        raise No("type")
    return n.x(0) != 0 if TYPES[to] == "bool" else n.g.cast(n.x(0), TYPES[to])


def is_infinite(n):
    signs = [sign for name, sign in (("detect_positive", INFINITY), ("detect_negative", -INFINITY)) if n.attribute(name, 1)]
    return functools.reduce(operator.or_, [n.x(0) == sign for sign in signs])


def dropout(n):
    if n.has(2) and n.value(2) and (n.value(1) is None or n.value(1) > 0):
        raise No("attribute")  # in training: other random numbers
    return [n.g.dropout(n.x(0), 0.5), n.x(0) == n.x(0)]


# --- Shapes ----------------------------------------------------------------------------------------------------------------

def reshape(n):
    shape = n.numbers(1)
    if not n.attribute("allowzero", 0):
        shape = [n.shape()[i] if size == 0 else size for i, size in enumerate(shape)]
    return to_shape(n, n.x(0), shape)


def to_shape(n, x, shape):
    if len(shape) > 6:
        raise No("rank")
    if 0 in shape:
        raise No("shape")
    return x.reshape(list(shape) or [1])


def flatten(n):
    shape, axis = n.shape(), n.attribute("axis", 1)
    return to_shape(n, n.x(0), [int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))])


def squeeze(n):
    shape = n.shape()
    axes = [a % len(shape) for a in n.numbers(1, n.attribute("axes", [i for i, size in enumerate(shape) if size == 1]))]
    return to_shape(n, n.x(0), [size for i, size in enumerate(shape) if i not in axes])


def unsqueeze(n):
    axes = n.numbers(1, n.attribute("axes"))
    return to_shape(n, n.x(0), np.expand_dims(n.arrays[0], tuple(axes)).shape)


def expand(n):
    return n.x(0).expand(list(np.broadcast_shapes(n.shape(), n.numbers(1))) or [1])


def transpose(n):
    rank = len(n.shape())
    return n.x(0).permute(n.attribute("perm", list(range(rank))[::-1]))


def concat(n):
    return n.g.concat(n.all(), n.attribute("axis", 1))


def split(n):
    axis, size = n.axis(0), n.shape()[n.axis(0)]
    sizes = n.numbers(1, n.attribute("split"))
    if sizes is None:
        each = -(-size // n.output_count)
        sizes = [min(each, size - i * each) for i in range(n.output_count)]
    if 0 in sizes:
        raise No("shape")
    return n.g.split(n.x(0), sizes, axis)


def slices(n):
    starts, ends = n.numbers(1, n.attribute("starts")), n.numbers(2, n.attribute("ends"))
    axes, steps = n.numbers(3, n.attribute("axes", list(range(len(starts))))), n.numbers(4, [1] * len(starts))
    index = [slice(None)] * len(n.shape())
    for axis, start, end, step in zip(axes, starts, ends, steps):
        # Behind the first element there is nothing: numpy says None where ONNX has a number below -size.
        index[axis] = slice(start, None if step < 0 and end < -n.shape()[axis] else end, step)
    if 0 in n.arrays[0][tuple(index)].shape:
        raise No("shape")
    return n.x(0)[tuple(index)]


def gather(n):
    """Rows of a table, which are those of the axis."""
    x, shape, axis, ids = n.x(0), n.shape(), n.axis(0), n.x(1, index=True)
    if x.dtype in ("i32", "u8"):
        raise No("type")
    rows = x.permute([axis, *[a for a in range(len(shape)) if a != axis]]).reshape(shape[axis], -1)
    ids = n.g.where(ids < 0, ids + shape[axis], ids)
    taken = n.g.embedding(rows, ids, dtype=x.dtype)  # [ids..., rest]
    rank, left = len(n.shape(1)), list(shape[:axis]) + list(shape[axis + 1:])
    if rank + len(left) > 6:
        raise No("rank")
    taken = taken.reshape(list(n.shape(1)) + left or [1])
    order = list(range(rank, rank + axis)) + list(range(rank)) + list(range(rank + axis, rank + len(left)))
    return taken.permute(order) if order else taken


def tile(n):
    y = n.x(0)
    for axis, times in enumerate(n.numbers(1)):
        y = n.g.tile(y, axis, times)
    return y


def pad(n):
    y, axes = n.x(0), n.numbers(3, list(range(len(n.shape()))))
    pads = n.numbers(1, n.attribute("pads"))
    value = n.value(2, np.zeros(())).reshape(()).item()
    for axis, before, behind in zip(axes, pads, pads[len(axes):]):
        y = n.g.pad(y, axis, before, behind, mode=n.attribute("mode", b"constant").decode(), value=value)
    return y


def places(n, i, axis):
    """Indices, of which negative ones count from the end."""
    at = n.x(i, index=True)
    return n.g.where(at < 0, at + n.shape()[axis], at)


def gather_elements(n):
    axis, x = n.axis(0), n.x(0)
    for i, size in enumerate(n.shape(1)):
        x = n.g.slice(x, i, 0, size) if i != axis and size < n.shape()[i] else x
    return n.g.gather(x, axis, places(n, 1, axis))


def scatter_elements(n):
    axis, how = n.axis(0), n.attribute("reduction", b"none")
    if how not in (b"none", b"add"):
        raise No("attribute")
    if any(a != b for i, (a, b) in enumerate(zip(n.shape(), n.shape(2))) if i != axis):
        raise No("shape")  # updates of a part
    return (n.g.scatter_add if how == b"add" else n.g.scatter)(n.x(0), axis, places(n, 1, axis), n.x(2))


def one_hot(n):
    if n.arrays[2].dtype.name not in TYPES:
        raise No("type")
    depth, (off, on) = int(n.value(1).reshape(-1)[0]), n.value(2).tolist()
    ids = n.x(0, index=True)
    ids = n.g.where(ids < 0, ids + depth, ids)
    chosen = ids.reshape(*ids.shape, 1) == n.constant(np.arange(depth, dtype=np.int32))
    dtype = TYPES[n.arrays[2].dtype.name]
    y = n.g.cast(n.g.where(chosen, n.g.number(on, dtype if dtype in ("i32", "u8") else "f32"), off), dtype)
    axis = n.axis(-1, len(n.shape()) + 1)
    return y.permute(list(range(axis)) + [len(n.shape())] + list(range(axis, len(n.shape()))))


def triangle(n):
    x, shape = n.x(0), n.shape()
    k = int(n.value(1, 0))
    kept = (np.triu if n.attribute("upper", 1) else np.tril)(np.ones(shape[-2:], bool), k)
    return n.g.where(n.constant(kept.astype(np.uint8)), x, 0)


def depth_to_space(n):
    """In two steps of five axes."""
    b, depth, h, w = n.shape()
    size = n.attribute("blocksize")
    c, x = depth // size**2, n.x(0)
    if n.attribute("mode", b"DCR") == b"DCR":
        x = x.reshape(b, size * size, c, h, w).transpose(1, 2)
    return x.reshape(b * c, size, size, h, w).permute(0, 3, 1, 4, 2).reshape(b, c, h * size, w * size)


def space_to_depth(n):
    b, c, h, w = n.shape()
    size = n.attribute("blocksize")
    x = n.x(0).reshape(b * c, h // size, size, w // size, size).permute(0, 2, 4, 1, 3)
    x = x.reshape(b, c, size * size, h // size, w // size)
    x = x.transpose(1, 2) if n.attribute("mode", b"DCR") == b"DCR" else x
    return x.reshape(b, c * size * size, h // size, w // size)


# --- Rows ------------------------------------------------------------------------------------------------------------------

def along(n, axis, call):
    """A function of rows along an axis."""
    rank = len(n.shape())
    x = n.x(0)
    return call(x) if axis == rank - 1 else call(x.transpose(axis, rank - 1)).transpose(axis, rank - 1)


def hardmax(n):
    size = n.shape()[n.axis(-1)]
    ids = n.constant(np.arange(size, dtype=np.int32))
    return along(n, n.axis(-1), lambda x: n.g.cast(n.g.argmax(x).reshape(*x.shape[:-1], 1) == ids, x.dtype))


def rows_from(n, x, axis):
    """The axes from `axis` on as one."""
    shape = n.shape()
    return x.reshape([*shape[:axis], int(np.prod(shape[axis:]))])


def layernorm(n):
    axis, shape, eps = n.axis(-1), n.shape(), n.attribute("epsilon", 1e-5)
    x = rows_from(n, n.x(0), axis)
    y = n.g.layernorm(x, n.x(1).reshape(-1), n.x(2).reshape(-1) if n.has(2) else None, eps)
    if n.output_count == 1:
        return y.reshape(shape)
    ones = list(shape[:axis]) + [1] * (len(shape) - axis)
    mean = x.mean(-1).reshape([*shape[:axis], 1])
    variance = ((x - mean) * (x - mean)).mean(-1)
    return [y.reshape(shape), mean.reshape(ones), n.g.rsqrt(variance + eps).reshape(ones)]


def rmsnorm(n):
    axis = n.axis(-1)
    return n.g.rmsnorm(rows_from(n, n.x(0), axis), n.x(1).reshape(-1), n.attribute("epsilon", 1e-5)).reshape(n.shape())


def normalized(n, x, axes, eps):
    """Of mean 0 and variance 1 over these axes."""
    shape = [1 if a in axes else size for a, size in enumerate(n.shape())]
    centred = x - x.mean(axes).reshape(shape)
    return centred * n.g.rsqrt((centred * centred).mean(axes) + eps).reshape(shape)


def of_channels(n, i):
    """A factor for each channel, [C], beside x [N, C, ...]."""
    return n.x(i).reshape([-1] + [1] * (len(n.shape()) - 2))


def batchnorm(n):
    n.allow(training_mode=0)
    deviation = n.g.rsqrt(of_channels(n, 4) + n.attribute("epsilon", 1e-5))
    return (n.x(0) - of_channels(n, 3)) * deviation * of_channels(n, 1) + of_channels(n, 2)


def instancenorm(n):
    axes = list(range(2, len(n.shape())))
    return normalized(n, n.x(0), axes, n.attribute("epsilon", 1e-5)) * of_channels(n, 1) + of_channels(n, 2)


def meanvariancenorm(n):
    return normalized(n, n.x(0), n.attribute("axes", [0, 2, 3]), 1e-9)


def groupnorm(n):
    shape = n.shape()
    x = n.x(0).reshape(shape[0], n.attribute("num_groups"), -1)
    centred = x - x.mean(-1).reshape(*x.shape[:2], 1)
    deviation = n.g.rsqrt((centred * centred).mean(-1) + n.attribute("epsilon", 1e-5))
    return (centred * deviation.reshape(*x.shape[:2], 1)).reshape(shape) * of_channels(n, 1) + of_channels(n, 2)


def lpnorm(n):
    axis = n.axis(-1)
    shape = [1 if a == axis else size for a, size in enumerate(n.shape())]
    x = n.x(0)
    length = abs(x).sum(axis) if n.attribute("p", 2) == 1 else n.g.sqrt((x * x).sum(axis))
    length = length.reshape(shape)
    return n.g.where(length == 0, 0, x / n.g.where(length == 0, 1, length))


# --- Losses ----------------------------------------------------------------------------------------------------------------

def loss(of_log_probabilities):
    """The loss of labels [N, ...] beside [N, C, ...], and its log-probabilities."""
    def express(n):
        rank = len(n.shape())
        rows = n.x(0).permute([0, *range(2, rank), 1])
        made = heed.nn.cross_entropy(
            rows, n.x(1, index=True), class_weights=n.x(2), ignored=n.attribute("ignore_index", -1),
            reduction=n.attribute("reduction", b"mean").decode(), of_log_probabilities=of_log_probabilities)
        logs = made.log_probabilities.permute([0, rank - 1, *range(1, rank - 1)])
        return [made.loss, logs][:n.output_count]
    return express


# --- Reductions ------------------------------------------------------------------------------------------------------------

def reduced(before, kind, after):
    def express(n):
        axes = n.numbers(1, n.attribute("axes")) or []
        x = before(n.g, n.x(0))
        if (not axes and n.attribute("noop_with_empty_axes", 0)) or not n.shape():
            return after(n.g, x)
        return after(n.g, n.g.reduce(x, kind, axes, keep=bool(n.attribute("keepdims", 1))))
    return express


def same(g, x):
    return x


def index_of(call):
    return lambda n: call(n.g, n.x(0), n.axis(0), keep=bool(n.attribute("keepdims", 1)), last=bool(n.attribute("select_last_index", 0)))


def cumsum(n):
    axis = int(n.value(1).reshape(-1)[0])
    return n.g.cumsum(n.x(0), axis, exclusive=bool(n.attribute("exclusive", 0)), reverse=bool(n.attribute("reverse", 0)))


def top_k(n):
    return list(n.g.top_k(n.x(0), n.numbers(1)[0], n.axis(-1), smallest=not n.attribute("largest", 1)))


# --- Products and attention ------------------------------------------------------------------------------------------------

def matmul(n):
    a, b = n.x(0), n.x(1)
    rank_a, rank_b = len(n.shape(0)), len(n.shape(1))
    a = a.reshape(1, -1) if rank_a == 1 else a
    b = b.reshape(-1, 1) if rank_b == 1 else b
    if max(len(a.shape), len(b.shape)) > 4:
        raise No("rank")
    return to_shape(n, a @ b, np.matmul(n.arrays[0], n.arrays[1]).shape)


def gemm(n):
    y = n.g.matmul(n.x(0), n.x(1), transpose_a=bool(n.attribute("transA", 0)), transpose_b=bool(n.attribute("transB", 0)),
                   scale=n.attribute("alpha", 1.0))
    return y + n.x(2) * n.attribute("beta", 1.0) if n.has(2) else y


def heads(n, i, name):
    """[B, H, S, d] of an input that may be [B, S, H d]."""
    x = n.x(i)
    if len(n.shape(i)) == 4:
        return x
    b, s, width = n.shape(i)
    count = n.attribute(name)
    return x.reshape(b, s, count, width // count).transpose(1, 2)


def attention(n):
    g, is_causal = n.g, n.attribute("is_causal", 0)
    windows = [n.attribute(name, -1) + 1 for name in ("left_window_size", "right_window_size")]
    query, key, value = heads(n, 0, "q_num_heads"), heads(n, 1, "kv_num_heads"), heads(n, 2, "kv_num_heads")
    past = 0
    if n.has(4):
        past = n.shape(4)[2]
        key, value = g.concat([n.x(4), key], 2), g.concat([n.x(5), value], 2)
    batch, _, tokens, _ = query.shape
    options = {"scale": n.attribute("scale"), "softcap": n.attribute("softcap", 0.0), "window": windows[0], "window_ahead": windows[1]}
    if n.has(6):
        options["lengths"] = n.x(6, index=True)
    if is_causal:
        options["causal"] = "bottom_right" if past or n.has(6) else "top_left"
    if ((is_causal and past) or any(windows)) and not n.has(6) and key.shape[2] - tokens != past:
        options["positions"] = n.constant(np.full([batch], past, np.int32))
    if n.has(3):
        mask, is_kept = n.x(3), n.arrays[3].dtype == bool
        lacking = key.shape[2] - n.shape(3)[-1]
        if lacking > 0:  # keys behind the mask are left out
            rest = np.zeros([*n.shape(3)[:-1], lacking], np.uint8) if is_kept else np.full([*n.shape(3)[:-1], lacking], -INFINITY, np.float32)
            more = n.constant(rest)
            mask = g.concat([mask, more if is_kept else g.cast(more, mask.dtype)], -1)
        options.update({"mask": heed.keep(mask)} if is_kept else {"bias": mask})
    step = ("scaled", "capped", "masked", "none")[n.attribute("qk_matmul_output_mode", 0)] if n.output_count > 3 else "none"
    result = g.attention(query, key, value, return_weights=n.output_count > 3 and step == "none", return_scores=step, **options)
    y = result.output
    if len(n.shape(0)) == 3:
        y = y.transpose(1, 2).reshape(batch, tokens, -1)
    return [y, key, value, result.weights if step == "none" else result.scores][:n.output_count]


def rotary(n):
    """Of tables of cosines and sines, whose rows positions choose."""
    g, x, shape = n.g, n.x(0), n.shape()
    if len(shape) == 3:
        x = x.reshape(shape[0], shape[1], n.attribute("num_heads"), -1)
    else:
        x = x.transpose(1, 2)  # [B, S, H, d]
    width = n.attribute("rotary_embedding_dim", 0) or x.shape[-1]
    cos, sin = n.x(1), n.x(2)
    if n.has(3):
        cos, sin = (g.embedding(table, n.x(3, index=True), dtype=x.dtype) for table in (cos, sin))
    cos, sin = cos[:, :, None], sin[:, :, None]
    turned, rest = x[..., :width], x[..., width:] if width < x.shape[-1] else None
    if n.attribute("interleaved", 0):
        a, b = turned[..., ::2], turned[..., 1::2]
    else:
        a, b = g.split(turned, 2, -1)
    a, b = cos * a - sin * b, sin * a + cos * b
    if n.attribute("interleaved", 0):
        turned = g.concat([a[..., None], b[..., None]], -1).reshape(turned.shape)
    else:
        turned = g.concat([a, b], -1)
    y = turned if rest is None else g.concat([turned, rest], -1)
    return y.reshape(shape) if len(shape) == 3 else y.transpose(1, 2)


OPERATORS = {
    # Of elements
    "Abs": of_one(heed.Graph.abs), "Add": of_two(heed.Graph.add), "Sub": of_two(heed.Graph.sub), "Mul": of_two(heed.Graph.mul),
    "Div": of_two(heed.Graph.div), "Mod": modulo, "Pow": power, "Neg": of_one(heed.Graph.neg), "Sign": of_one(heed.Graph.sign),
    "Min": of_all(heed.Graph.minimum), "Max": of_all(heed.Graph.maximum), "Sum": of_all(heed.Graph.add),
    "Mean": lambda n: of_all(heed.Graph.add)(n) / len(n.arrays), "Clip": clip,
    "Reciprocal": of_one(heed.Graph.reciprocal), "Sqrt": of_one(heed.Graph.sqrt), "Exp": of_one(heed.Graph.exp),
    "Log": of_one(heed.Graph.log), "Sin": of_one(heed.Graph.sin), "Cos": of_one(heed.Graph.cos), "Erf": of_one(heed.Graph.erf),
    "Tan": of_one(lambda g, x: g.sin(x) / g.cos(x)), "Sinh": of_one(lambda g, x: (g.exp(x) - g.exp(-x)) / 2),
    "Asinh": of_one(lambda g, x: g.sign(x) * g.log(abs(x) + g.sqrt(x * x + 1))),
    "Acosh": of_one(lambda g, x: g.log(x + g.sqrt(x * x - 1))), "Atanh": of_one(lambda g, x: g.log((1 + x) / (1 - x)) / 2),
    "Cosh": of_one(lambda g, x: (g.exp(x) + g.exp(-x)) / 2), "Floor": of_one(heed.Graph.floor), "Round": of_one(heed.Graph.round),
    "Ceil": of_one(lambda g, x: -g.floor(-x)), "Sigmoid": of_one(heed.Graph.sigmoid), "Softplus": of_one(heed.Graph.softplus),
    "Relu": of_one(lambda g, x: g.activation(x, "relu")), "Tanh": of_one(lambda g, x: g.activation(x, "tanh")),
    "Gelu": of_one(lambda g, x, how: g.activation(x, "gelu_tanh" if how == b"tanh" else "gelu_erf"), approximate=b"none"),
    "Elu": of_one(heed.Graph.elu, alpha=1.0), "LeakyRelu": of_one(heed.Graph.leaky_relu, alpha=0.01),
    "Selu": of_one(lambda g, x, alpha, gamma: g.elu(x, alpha) * gamma, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875),
    "Celu": of_one(lambda g, x, alpha: g.elu(x / alpha, 1.0) * alpha, alpha=1.0),
    "HardSigmoid": of_one(lambda g, x, alpha, beta: g.clamp(x * alpha + beta, 0, 1), alpha=0.2, beta=0.5),
    "HardSwish": of_one(heed.Graph.hard_swish), "Mish": of_one(lambda g, x: x * g.activation(g.softplus(x), "tanh")),
    "Softsign": of_one(lambda g, x: x / (abs(x) + 1)), "Swish": of_one(lambda g, x, alpha: x * g.sigmoid(x * alpha), alpha=1.0),
    "SwiGLU": lambda n: n.x(0) * n.g.sigmoid(n.x(0) * n.attribute("alpha", 1.0)) * n.x(1),
    "ThresholdedRelu": of_one(lambda g, x, alpha: g.where(x > alpha, x, 0), alpha=1.0),
    "Shrink": of_one(lambda g, x, bias, most: g.where(x < -most, x + bias, g.where(x > most, x - bias, 0)), bias=0.0, lambd=0.5),
    "PRelu": lambda n: n.g.where(n.x(0) < 0, n.x(0) * n.x(1), n.x(0)),
    "Equal": of_two(heed.Graph.eq), "Less": of_two(heed.Graph.lt), "LessOrEqual": of_two(heed.Graph.le),
    "Greater": of_two(heed.Graph.gt), "GreaterOrEqual": of_two(heed.Graph.ge), "IsNaN": of_one(lambda g, x: x != x), "IsInf": is_infinite,
    "And": of_two(heed.Graph.logical_and), "Or": of_two(heed.Graph.logical_or), "Xor": of_two(heed.Graph.ne),
    "Not": of_one(heed.Graph.logical_not), "Where": lambda n: n.g.where(n.x(0), n.x(1), n.x(2)),
    "Cast": lambda n: cast(n, n.attribute("to")), "CastLike": lambda n: cast(n, n.arrays[1].dtype.name), "Dropout": dropout, "Identity": of_one(same),
    # Shapes
    "Reshape": reshape, "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Expand": expand, "Transpose": transpose,
    "Concat": concat, "Split": split, "Slice": slices, "Gather": gather, "GatherElements": gather_elements,
    "ScatterElements": scatter_elements, "Tile": tile, "Pad": pad, "OneHot": one_hot, "Trilu": triangle, "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    # Rows
    "Softmax": lambda n: along(n, n.axis(-1), n.g.softmax), "LogSoftmax": lambda n: along(n, n.axis(-1), n.g.log_softmax),
    "Hardmax": hardmax, "LayerNormalization": layernorm, "RMSNormalization": rmsnorm, "BatchNormalization": batchnorm,
    "InstanceNormalization": instancenorm, "MeanVarianceNormalization": meanvariancenorm, "LpNormalization": lpnorm,
    "GroupNormalization": groupnorm,
    # Losses
    "NegativeLogLikelihoodLoss": loss(True), "SoftmaxCrossEntropyLoss": loss(False),
    # Reductions
    "ReduceSum": reduced(same, "sum", same), "ReduceMean": reduced(same, "mean", same), "ReduceMax": reduced(same, "max", same),
    "ReduceMin": reduced(same, "min", same), "ReduceProd": reduced(same, "product", same), "ReduceL2": reduced(same, "l2", same),
    "ReduceLogSumExp": reduced(same, "log_sum_exp", same), "ReduceL1": reduced(heed.Graph.abs, "sum", same),
    "ReduceSumSquare": reduced(lambda g, x: x * x, "sum", same), "ReduceLogSum": reduced(same, "sum", heed.Graph.log),
    "GlobalAveragePool": lambda n: n.x(0).mean(list(range(2, len(n.shape())))).reshape([*n.shape()[:2]] + [1] * (len(n.shape()) - 2)),
    "ArgMax": index_of(heed.Graph.argmax), "ArgMin": index_of(heed.Graph.argmin), "CumSum": cumsum, "TopK": top_k,
    # Products and attention
    "MatMul": matmul, "Gemm": gemm, "Attention": attention, "RotaryEmbedding": rotary,
    **WINDOWS,
}
