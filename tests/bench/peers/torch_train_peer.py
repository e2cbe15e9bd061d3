"""PyTorch: the step and the gradient of attention of train_peer.cpp.

The model is written as PyTorch's users would: a fused projection of queries, keys and values, and the library's fastest attention."""
import math
import sys
import time

import numpy
import torch
from torch import nn

from serve import *

LAYER_WIDTH, LAYER_HEADS, STEP_LAYERS, CHARACTERS = 384, 6, 6, 96


def attend(q, k, v, mask):
    fused = getattr(nn.functional, "scaled_dot_product_attention", None)
    if fused is not None:
        return fused(q, k, v, is_causal=True)
    scores = torch.matmul(q * (1.0 / math.sqrt(q.shape[-1])), k.transpose(-1, -2))
    return torch.matmul(torch.softmax(scores + mask, -1), v)


def causal_mask(tokens):
    return torch.full((tokens, tokens), float("-inf")).triu(1)


class Layer(nn.Module):
    def __init__(self, tokens):
        super().__init__()
        self.norm1 = nn.LayerNorm(LAYER_WIDTH)
        self.qkv = nn.Linear(LAYER_WIDTH, 3 * LAYER_WIDTH)
        self.out = nn.Linear(LAYER_WIDTH, LAYER_WIDTH)
        self.norm2 = nn.LayerNorm(LAYER_WIDTH)
        self.up = nn.Linear(LAYER_WIDTH, 4 * LAYER_WIDTH)
        self.down = nn.Linear(4 * LAYER_WIDTH, LAYER_WIDTH)
        self.register_buffer("mask", causal_mask(tokens))

    def forward(self, x):
        batch, tokens, _ = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, tokens, 3, LAYER_HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = attend(heads[0], heads[1], heads[2], self.mask).transpose(1, 2).reshape(batch, tokens, LAYER_WIDTH)
        x = x + self.out(mixed)
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, tokens):
        super().__init__()
        self.characters = nn.Embedding(CHARACTERS, LAYER_WIDTH)
        self.layers = nn.ModuleList(Layer(tokens) for _ in range(STEP_LAYERS))
        self.norm = nn.LayerNorm(LAYER_WIDTH)
        self.head = nn.Linear(LAYER_WIDTH, CHARACTERS)

    def forward(self, ids):
        x = self.characters(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))

    def matrices(self):
        """Every matrix, with its index among the parameters in train_peer.cpp's order, which is that of heed's graph. ORDER is the
        order within a layer."""
        number = 0
        yield number, self.characters.weight
        number += 1
        for layer in self.layers:
            for weight in ORDER:
                parameter = layer.get_parameter(weight)
                if parameter.dim() > 1:
                    yield number, parameter
                number += 1
        yield number + 2, self.head.weight


ORDER = ["norm1.weight", "norm1.bias", "qkv.weight", "qkv.bias", "out.weight", "out.bias", "norm2.weight", "norm2.bias",
         "up.weight", "up.bias", "down.weight", "down.bias"]


def step(batch, tokens, stored):
    if stored != "f32":
        return None
    batch, tokens = int(batch), int(tokens)
    model = Model(tokens)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.zero_()
        for module in model.modules():
            if isinstance(module, nn.LayerNorm):
                module.weight.fill_(1.0)
        for number, parameter in model.matrices():
            parameter.copy_(torch.from_numpy(tensor(number, tuple(parameter.shape), WEIGHT_SIZE)))
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
                                  lr=1e-3, foreach=True)
    numbers = numpy.arange(batch * tokens + 1, dtype=numpy.int64) * 7919 % CHARACTERS
    ids = torch.from_numpy(numbers[:-1].reshape(batch, tokens))
    labels = torch.from_numpy(numbers[1:].copy())
    losses = []

    def run():
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(ids).view(-1, CHARACTERS), labels)
        loss.backward()
        optimizer.step()
        if len(losses) < 4:
            losses.append(loss.item())
        return numpy.array((losses + 4 * [0.0])[:4])
    return run


def heads_of(tokens):
    shape = (1, HEADS, int(tokens), HEAD)
    return [torch.from_numpy(tensor(INPUT + i, shape, INPUT_SIZE)) for i in range(4)]


def backward(tokens, stored):
    if stored != "f32":
        return None
    *inputs, up = heads_of(tokens)
    for x in inputs:
        x.requires_grad_()
    mask = causal_mask(int(tokens))

    def run():
        y = attend(*inputs, mask)
        for x in inputs:
            x.grad = None
        begin = time.perf_counter()
        y.backward(up)
        took = time.perf_counter() - begin
        grads = [x.grad.reshape(-1) for x in inputs]
        # As in train_peer.cpp, element i comes from the gradient i % 3.
        flat = torch.stack(grads, 1)[torch.arange(len(grads[0])), torch.arange(len(grads[0])) % 3]
        return Timed(flat.numpy(), took)
    return run


def forward(tokens, stored):
    if stored != "f32":
        return None
    inputs = heads_of(tokens)[:3]
    for x in inputs:
        x.requires_grad_()
    mask = causal_mask(int(tokens))
    return lambda: attend(*inputs, mask).detach().numpy()


torch.set_num_threads(int(sys.argv[1]))
serve(f"PyTorch {torch.__version__.split('+')[0]}", {"step": step, "backward": backward, "forward": forward})
