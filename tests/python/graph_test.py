"""Each operation compared with numpy, mistakes while a graph is built, and layers with PyTorch's names."""

import numpy as np
import pytest

import heed
from support import close

RANDOM = np.random.default_rng(7)


def array(*shape):
    return RANDOM.standard_normal(shape, np.float32)


def run(device, build, weights=None, **inputs):
    """The output of a graph whose inputs have the arrays' shapes and types."""
    g = heed.Graph()
    types = {"float32": "f32", "int32": "i32", "float16": "f16"}
    tensors = [g.input(name, a.shape, types.get(a.dtype.name, "u8")) for name, a in inputs.items()]
    g.output("y", build(g, *tensors))
    return device.compile(g, device.upload(weights) if weights else None).run(inputs)["y"]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


X, W = array(3, 5), array(7, 5)
IDS = np.array([[2, 0, 2]], np.int32)
CASES = {
    "add": (lambda g, x: x + x, X + X),
    "sub": (lambda g, x: x - x * x, X - X * X),
    "neg": (lambda g, x: -x, -X),
    "mul": (lambda g, x: x * x, X * X),
    "scale": (lambda g, x: 3 * x, 3 * X),
    "matmul": (lambda g, x: x @ g.transpose(x, 0, 1), X @ X.T),
    "matmul_scaled": (lambda g, x: g.matmul(x, x, transpose_b=True, scale=0.5), X @ X.T / 2),
    "transpose": (lambda g, x: g.transpose(x, -1, -2), X.T),
    "permute": (lambda g, x: g.permute(x, [1, 0]), X.T),
    "reshape": (lambda g, x: x.reshape(5, 3), X.reshape(5, 3)),
    "slice": (lambda g, x: g.slice(x, 1, 1, 3), X[:, 1:4]),
    "last": (lambda g, x: g.last(x, 0), X[-1:]),
    "select": (lambda g, x: g.select(x, 1, 2), X[:, 2]),
    "concat": (lambda g, x: g.concat([x, x], 1), np.concatenate([X, X], 1)),
    "pad": (lambda g, x: g.pad(g.pad(x, 0, 1, 2, value=-1.5), 1, 2, 1, mode="reflect"),
            np.pad(np.pad(X, ((1, 2), (0, 0)), constant_values=-1.5), ((0, 0), (2, 1)), mode="reflect")),
    "tile": (lambda g, x: g.tile(x, -1, 3), np.tile(X, 3)),
    "gather": (lambda g, x: g.gather(x, 1, g.constant("at", np.array([[4, 0], [1, 1], [2, 3]], np.int32))),
               np.take_along_axis(X, np.array([[4, 0], [1, 1], [2, 3]]), 1)),
    "scatter": (lambda g, x: g.scatter(x, 0, g.constant("at", np.array([[2]], np.int32)), x[:1]), np.concatenate([X[:2], X[:1]])),
    "scatter_add": (lambda g, x: g.scatter_add(x, 0, g.constant("at", np.array([[2]], np.int32)), x[:1]),
                    np.concatenate([X[:2], X[2:] + X[:1]])),
    "softmax": (lambda g, x: g.softmax(x, scale=2), softmax(2 * X)),
    "layernorm": (lambda g, x: g.layernorm(x, eps=1e-3), (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-3)),
    "rmsnorm": (lambda g, x: g.rmsnorm(x, eps=1e-3), X / np.sqrt((X * X).mean(1, keepdims=True) + 1e-3)),
    "l2_normalize": (lambda g, x: g.l2_normalize(x), X / np.sqrt((X * X).sum(1, keepdims=True))),
    "log_softmax": (lambda g, x: g.log_softmax(x), np.log(softmax(X))),
    "activation": (lambda g, x: g.activation(x, "silu"), X / (1 + np.exp(-X))),
    "mean": (lambda g, x: g.mean(x, 0), X.mean(0)),
    "product": (lambda g, x: x.prod(1), X.prod(1)),
    "max": (lambda g, x: x.max(), X.max().reshape(1)),
    "min": (lambda g, x: x.min((0, 1), keepdims=True), X.min(keepdims=True)),
    "log_sum_exp": (lambda g, x: x.logsumexp(-1, keepdims=True), np.log(np.exp(X).sum(1, keepdims=True))),
    "l2": (lambda g, x: g.reduce(x, "l2", [0]), np.sqrt((X * X).sum(0))),
    "argmax": (lambda g, x: g.argmax(x), X.argmax(1)),
    "argmin": (lambda g, x: x.argmin(0, keepdims=True), X.argmin(0).reshape(1, 5)),
    "last_argmax": (lambda g, x: g.argmax(g.scale(x, 0), last=True), np.full(3, 4)),
    "cumsum": (lambda g, x: x.cumsum(1), X.cumsum(1)),
    "sum_from_the_end": (lambda g, x: g.cumsum(x, 0, exclusive=True, reverse=True), X[::-1].cumsum(0)[::-1] - X),
    "top_values": (lambda g, x: x.topk(2).values, -np.sort(-X, 1)[:, :2]),
    "top_indices": (lambda g, x: g.top_k(x, 3, axis=0, smallest=True).indices, X.argsort(0)[:3]),
    "cast": (lambda g, x: g.cast(g.cast(x, "bf16"), "f32"), (((X.view(np.uint32) + 0x7fff + (X.view(np.uint32) >> 16 & 1)) >> 16) << 16)
             .view(np.float32)),
    "constant": (lambda g, x: x + g.constant("c", [1.0, 2, 3, 4, 5]), X + np.arange(1, 6)),
    "dropout": (lambda g, x: g.dropout(x, 0.5), X),  # acts in training plans only
    "greedy": (lambda g, x: g.sample(x, temperature=0), X.argmax(1)),
    "cross_entropy": (lambda g, x: g.cross_entropy(x, g.constant("labels", [0, 4, -100])),
                      np.array([-np.log(softmax(X))[0, 0], -np.log(softmax(X))[1, 4], 0])),
    "rotary": (lambda g, x: g.rotary(x, width=2, pairs="adjacent"),
               np.concatenate([np.stack([X[:, 0] * np.cos(range(3)) - X[:, 1] * np.sin(range(3)),
                                         X[:, 1] * np.cos(range(3)) + X[:, 0] * np.sin(range(3))], 1), X[:, 2:]], 1)),
    "positional": (lambda g, x: g.positional_encoding(g.slice(x, 1, 0, 2)), X[:, :2] + np.stack([np.sin(range(3)), np.cos(range(3))], 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_operation(device, name):
    build, expected = CASES[name]
    result = run(device, build, x=X)
    assert result.shape == expected.shape
    assert close(result, expected)


def test_embedding_take_and_linear(device):
    weights = {"fc.weight": W, "fc.bias": array(7)}
    assert close(run(device, lambda g, x: heed.nn.linear(x, "fc", 7), weights, x=X), X @ W.T + weights["fc.bias"])
    assert (run(device, lambda g, x, ids: g.embedding(x, ids), x=X, ids=IDS) == X[IDS]).all()
    rows = array(1, 3, 4)
    assert (run(device, lambda g, x, places: g.take(x, 1, places), x=rows, places=IDS) == rows[:, IDS[0]]).all()


def test_masks_mean_what_they_say(device):
    x = array(2, 4, 4)
    mask = np.array([[0, 1, 0, 1], [1, 1, 1, 1]], bool)
    excluded = run(device, lambda g, x, m: g.softmax(x, key_padding=heed.exclude(m)), x=x, m=mask)
    kept = run(device, lambda g, x, m: g.softmax(x, key_padding=heed.keep(m)), x=x, m=~mask)
    assert (excluded == kept).all() and (excluded[0, :, 1] == 0).all() and (excluded[1] == 0).all()


def test_attention_gives_what_is_asked_for(device):
    q = array(1, 2, 3, 4)
    g = heed.Graph()
    x = g.input("x", q.shape)
    plain = g.attention(x, x, x, causal="top_left")
    assert plain.weights is None and plain.log_sum_exp is None and plain.scores is None
    full = g.attention(x, x, x, causal="top_left", return_weights=True, return_log_sum_exp=True, return_scores="masked")
    for name, tensor in full._asdict().items():
        g.output(name, tensor)
    y = device.compile(g).run({"x": q})
    scores = np.where(np.tri(3, dtype=bool), q @ q.swapaxes(2, 3) / 2, -np.inf)
    assert close(y["weights"], softmax(scores)) and close(y["output"], softmax(scores) @ q)
    seen = np.isfinite(scores)
    assert close(y["scores"][seen], scores[seen]) and (y["scores"][~seen] == -np.inf).all()
    assert close(y["log_sum_exp"], np.log(np.exp(scores).sum(-1)))


def test_state_and_append(device):
    g = heed.Graph()
    past = g.position("past", 7)
    rows = g.input("rows", [1, g.extent("n", 3), 2])
    g.output("all", g.append(g.state("keys", [1, 8, 2]), rows, 1, past))
    plan = device.compile(g)
    state, other = plan.make_state(), plan.make_state()
    a, b = array(1, 2, 2), array(1, 3, 2)
    plan.run({"rows": a}, state=state)
    result = plan.run({"rows": b}, extents={"past": 2}, state=state)["all"]
    assert (result[0, :5] == np.concatenate([a, b], 1)[0]).all() and (result[0, 5:] == 0).all()
    assert (state.read("keys", axis=1, begin=2, size=3) == b).all()
    saved = state.save()
    other.copy(state)
    assert (other.read("keys") == result).all()
    state.clear()
    assert (state.read("keys") == 0).all()
    state.load(saved)
    assert (state.read("keys") == result).all()
    state.write("keys", a, axis=1, begin=0, size=2)
    assert (state.read("keys", axis=1, size=2) == a).all()
    with pytest.raises(heed.Error) as failure:
        state.load(saved[:-1])
    assert failure.value.status == heed.Status.INVALID_FILE
    with pytest.raises(heed.Error) as failure:
        plan.run({"rows": b}, extents={"past": 6}, state=state)
    assert failure.value.status == heed.Status.EXTENT_OUT_OF_RANGE
    with pytest.raises(heed.Error) as failure:
        plan.run({"rows": b})
    assert failure.value.status == heed.Status.MISSING_BUFFER


def test_shapes_of_outputs_follow_from_extents(device):
    g = heed.Graph()
    batch, tokens = g.extent("batch", 4), g.extent("tokens", 9)
    x = g.input("x", [batch, tokens, 2])
    g.output("flat", x.reshape(g.constant("c", [0.0]).shape[0], batch, tokens, 2))
    g.output("joined", g.concat([x, x], 1))
    plan = device.compile(g)
    y = plan.run({"x": array(3, 5, 2)})
    assert y["flat"].shape == (1, 3, 5, 2) and y["joined"].shape == (3, 10, 2)
    assert str(plan.inputs["x"].shape) == "(batch, tokens, 2)"


def test_sizes_are_arithmetic(device):
    g = heed.Graph()
    b, n = g.extent("b", 3), g.extent("n", 20)
    x = g.input("x", [b, n, 2])
    g.output("flat", x.reshape(b * n, 2))
    g.output("steps", g.stride(g.input("y", [(n - 1) // 3 + 1, 2]), 1, 2))
    g.output("halves", x.reshape(b, n / 2, 4))
    assert 1 + (n - 1) == n and n * 2 / 2 == n and (7 - n).most == 6
    plan = device.compile(g)
    a = array(2, 4, 2)
    y = plan.run({"x": a, "y": array(2, 2)})
    assert (y["flat"] == a.reshape(8, 2)).all() and (y["halves"] == a.reshape(2, 2, 4)).all() and y["steps"].shape == (2, 1)
    with pytest.raises(heed.Error, match="no whole number: 3 / 2"):
        plan.run({"x": array(2, 3, 2), "y": array(1, 2)})


def mistakes(g, x):
    other = heed.Graph()
    return {
        "shapes": (lambda: x @ x, heed.Error),
        "foreign": (lambda: g.add(x, other.input("x", [2])), ValueError),
        "no such type": (lambda: (x > 0) + 1, heed.Error),
        "no tensor": (lambda: g.linear(x, np.ones(3)), TypeError),
        "word": (lambda: g.activation(x, "gelu"), ValueError),
        "type": (lambda: g.input("z", [2], "float32"), ValueError),
        "negative": (lambda: g.input("z", [-1]), heed.Error),
        "bare mask": (lambda: g.softmax(x, mask=x), TypeError),
        "zero in a name": (lambda: g.input("a\0b", [2]), ValueError),
        "seven sizes": (lambda: g.input("z", [1] * 7), heed.Error),
        "twice": (lambda: g.input("x", [2]), heed.Error),
        "float64": (lambda: g.constant("z", np.ones(3)), heed.Error),
        "unknown option": (lambda: heed.nn.self_attention(x, "a", head=2), TypeError),
        "no head": (lambda: heed.nn.self_attention(x, "a", heads=0), heed.Error),
        "unknown names": (lambda: heed.nn.self_attention(x, "a", names="fused"), ValueError),
        "heads": (lambda: heed.nn.self_attention(x, "a", heads=3), heed.Error),
        "too many layers": (lambda: heed.nn.encoder_stack(x, "a", layers=1001), heed.Error),
    }


@pytest.mark.parametrize("name", mistakes(None, None))
def test_mistake(name):
    g = heed.Graph()
    call, kind = mistakes(g, g.input("x", [1, 3, 5]))[name]
    with pytest.raises(kind) as failure:
        call()
    assert str(failure.value)
    if kind is heed.Error:
        assert failure.value.status != 0 and failure.value.message


def test_pytorch_layers_by_their_state_dicts(device):
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(24, 4, 40, 0.0, batch_first=True), 2)
    decoder = torch.nn.TransformerDecoderLayer(24, 4, 40, 0.0, batch_first=True)
    x, y = torch.randn(2, 5, 24), torch.randn(2, 3, 24)
    g = heed.Graph()
    attention = heed.nn.MultiHeadOptions(heads=4)
    hidden = heed.nn.FeedForwardOptions(hidden=40)
    memory = heed.nn.encoder_stack(g.input("x", x.shape), "layers", attention=attention, feed_forward=hidden, layers=2)
    g.output("memory", memory)
    weights = {**encoder.state_dict(), **{"decoder." + name: w for name, w in decoder.named_parameters()}}
    g.output("y", heed.nn.decoder_layer(g.input("y_in", y.shape), memory, "decoder", self_attention=attention,
                                        cross_attention=attention, feed_forward=hidden))
    result = device.compile(g, device.upload(weights)).run({"x": x, "y_in": y})
    expected = encoder(x)
    assert close(result["memory"], expected.detach().numpy())
    assert close(result["y"], decoder(y, expected).detach().numpy())
    halves = {name: w.bfloat16() for name, w in weights.items()}
    assert device.upload(halves).bytes < 0.6 * device.upload(weights).bytes
