"""PyTorch: nn.TransformerEncoder with its fast path, linear, and its fastest attention."""
import math
import sys

import numpy
import torch
from torch import nn

from serve import *

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def tensors(salt, shape, size):
    return torch.from_numpy(numpy.ascontiguousarray(tensor(salt, shape, size)))


def encoder_layers(stored):
    block = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, dropout=0.0, activation="gelu", batch_first=True)
    stack = nn.TransformerEncoder(block, LAYERS)
    for i, part in enumerate(stack.layers):
        targets = [part.self_attn.in_proj_weight, part.self_attn.in_proj_bias, part.self_attn.out_proj.weight,
                   part.self_attn.out_proj.bias, part.linear1.weight, part.linear1.bias, part.linear2.weight,
                   part.linear2.bias]
        with torch.no_grad():
            for target, values in zip(targets, layer(i)):
                target.copy_(torch.from_numpy(values))
    return stack.eval().to(stored)


def as_floats(run):
    def call():
        with torch.inference_mode():
            return run().float().numpy()
    return call


def matmul(m, n, k, stored):
    if stored not in TYPES:
        return None
    x = tensors(INPUT, (int(m), int(k)), INPUT_SIZE).to(TYPES[stored])
    w = tensors(QKV, (int(n), int(k)), WEIGHT_SIZE).to(TYPES[stored])
    return as_floats(lambda: nn.functional.linear(x, w))


def attend(q, k, v, causal):
    fused = getattr(nn.functional, "scaled_dot_product_attention", None)
    if fused is not None:
        return fused(q, k, v, is_causal=causal)
    scores = torch.matmul(q * (1.0 / math.sqrt(HEAD)), k.transpose(-1, -2))
    if causal:
        scores = scores + torch.full(scores.shape[-2:], float("-inf")).triu(1)
    return torch.matmul(torch.softmax(scores, -1), v)


def attention(tokens, kind, stored):
    if stored != "f32":
        return None
    q, k, v = (tensors(INPUT + i, (1, HEADS, int(tokens), HEAD), INPUT_SIZE) for i in range(3))
    return as_floats(lambda: attend(q, k, v, kind == "causal"))


def encoder(batch, tokens, stored):
    if stored not in TYPES:
        return None
    x = tensors(INPUT, (int(batch), int(tokens), WIDTH), INPUT_SIZE).to(TYPES[stored])
    stack = encoder_layers(TYPES[stored])
    return as_floats(lambda: stack(x))


def decode(keys, stored):
    if stored != "f32":
        return None
    x = tensors(INPUT, (1, 1, WIDTH), INPUT_SIZE)
    layers = [[torch.from_numpy(w) for w in layer(i)] for i in range(LAYERS)]
    past = [[tensors(16 * i + salt, (1, HEADS, int(keys), HEAD), INPUT_SIZE) for salt in (PAST_KEYS, PAST_VALUES)]
            for i in range(LAYERS)]

    def step():
        y = x
        for (qkv, qkv_bias, out, out_bias, up, up_bias, down, down_bias), (k, v) in zip(layers, past):
            q = nn.functional.linear(y, qkv, qkv_bias)[..., :WIDTH].view(1, 1, HEADS, HEAD).transpose(1, 2)
            mixed = attend(q, k, v, False).transpose(1, 2).reshape(1, 1, WIDTH)
            y = nn.functional.layer_norm(y + nn.functional.linear(mixed, out, out_bias), (WIDTH,))
            wide = nn.functional.gelu(nn.functional.linear(y, up, up_bias))
            y = nn.functional.layer_norm(y + nn.functional.linear(wide, down, down_bias), (WIDTH,))
        return y
    return as_floats(step)


def channels_last(run):
    """`run` returns [batch, channels, ..]; other peers keep channels last."""
    return as_floats(lambda: run().movedim(1, -1))


def conv1d(length, channels, made, stride, stored):
    if stored != "f32":
        return None
    x = tensors(INPUT, (1, int(length), int(channels)), INPUT_SIZE).movedim(-1, 1).contiguous()
    w = tensors(QKV, (int(made), 3, int(channels)), WEIGHT_SIZE).movedim(-1, 1).contiguous()
    b = tensors(QKV_BIAS, (int(made),), BIAS_SIZE)
    return channels_last(lambda: nn.functional.conv1d(x, w, b, stride=int(stride), padding=1))


def patches(side, stored):
    if stored != "f32":
        return None
    x = tensors(INPUT, (1, int(side), int(side), 3), INPUT_SIZE).movedim(-1, 1).contiguous()
    w = tensors(QKV, (WIDTH, 16, 16, 3), WEIGHT_SIZE).movedim(-1, 1).contiguous()
    b = tensors(QKV_BIAS, (WIDTH,), BIAS_SIZE)
    return channels_last(lambda: nn.functional.conv2d(x, w, b, stride=16))


torch.set_num_threads(int(sys.argv[1]))
serve(f"PyTorch {torch.__version__.split('+')[0]}",
      {"matmul": matmul, "attention": attention, "encoder": encoder, "decode": decode,
       "conv1d": conv1d, "patches": patches})
