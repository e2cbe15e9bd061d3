"""Tensors behave like other Python objects: indexing, reductions, recovery after mistakes, messages that name arguments,
docstrings."""

import dataclasses
import importlib
import inspect
import pathlib
import pydoc
import re

import numpy as np
import pytest

import heed
from graph_test import array, run
from support import close

X = array(3, 6, 10)

INDICES = {
    "number": (lambda a: a[1]),
    "from the end": (lambda a: a[-1, :, -2]),
    "column": (lambda a: a[:, 0]),
    "slices": (lambda a: a[1:, :-2, 3:7]),
    "ellipsis": (lambda a: a[..., 4]),
    "ellipsis in the middle": (lambda a: a[0, ..., -3:]),
    "steps": (lambda a: a[..., ::2]),
    "steps of a part": (lambda a: a[:, 1:6:3, 2:-1:4]),
    "reverse": (lambda a: a[:, ::-1]),
    "reverse steps": (lambda a: a[..., 8:1:-3]),
    "beyond the end": (lambda a: a[:, 2:100]),
    "new axis": (lambda a: a[:, None, 2]),
    "new axis at the end": (lambda a: a[1, 2:5, :, None]),
    "numpy's numbers": (lambda a: a[np.int64(2), :np.int32(3)]),
    "nothing": (lambda a: a[...]),
}


@pytest.mark.parametrize("name", INDICES)
def test_index(device, name):
    index = INDICES[name]
    expected = index(X)
    result = run(device, lambda g, x: index(x), x=X)
    assert result.shape == expected.shape and (result == expected).all()


def test_indices_of_extents(device):
    g = heed.Graph()
    n, at = g.extent("n", 9), g.position("at", 8)
    x = g.input("x", [2, n, 3])
    g.output("next", x[:, 1:] * x[:, :-1])
    g.output("last", x[:, -1])
    g.output("tail", x[:, -2:])
    g.output("there", x[:, at])
    plan = device.compile(g)
    for size in (9, 2, 5):
        a = array(2, size, 3)
        y = plan.run({"x": a}, extents={"at": 1})
        assert y["next"].shape == (2, size - 1, 3) and close(y["next"], a[:, 1:] * a[:, :-1])
        assert (y["last"] == a[:, -1]).all() and (y["tail"] == a[:, -2:]).all() and (y["there"] == a[:, 1]).all()
    with pytest.raises(heed.Error) as failure:
        plan.run({"x": array(2, 1, 3)})
    assert failure.value.status == heed.Status.EXTENT_OUT_OF_RANGE
    for wrong in (lambda: x[:, ::2], lambda: x[:, at:]):
        with pytest.raises((heed.Error, TypeError)):
            wrong()


def test_slices_between_dims(device):
    g = heed.Graph()
    n, at = g.extent("rows", 9), g.position("at", 8)
    x = g.input("x", [n, 3])
    g.output("head", x[1:n])
    g.output("part", x[at:at + 2])
    g.output("end", x[at:4])
    plan = device.compile(g)
    a = array(7, 3)
    y = plan.run({"x": a}, extents={"at": 3})
    assert (y["head"] == a[1:]).all() and (y["part"] == a[3:5]).all() and (y["end"] == a[3:4]).all()
    with pytest.raises(heed.Error):
        plan.run({"x": a}, extents={"at": 6})
    assert n - n == 0
    for wrong in (lambda: x[n:n], lambda: x[-2:n], lambda: x[3:2], lambda: x[at:"a"]):
        with pytest.raises((heed.Error, TypeError)):
            wrong()


def test_what_a_tensor_has_not_is_elsewhere():
    g = heed.Graph()
    x = g.input("x", [2, 3])
    for name, instead in (("softmax", "; there is Graph.softmax"), ("relu", r"; there is Graph.activation\(x, 'relu'\)"), ("detach", ""),
                          ("unsqueeze", r"; there is x\[:, None\]"), ("view", "; there is x.reshape"), ("_sum", "")):
        with pytest.raises(AttributeError, match=f"a Tensor has no '{name}'{instead}$"):
            getattr(x, name)
    assert not hasattr(x, "__array__") and not hasattr(x, "__dlpack__")


def test_expand_keeps_sizes(device):
    g = heed.Graph()
    x = g.input("x", [1, g.extent("n", 5), 4])
    g.output("y", x.expand(3, -1, -1))
    g.output("z", x.expand([2, 3, -1, -1, 4]))
    a = array(1, 2, 4)
    y = device.compile(g).run({"x": a})
    assert (y["y"] == np.broadcast_to(a, (3, 2, 4))).all() and y["z"].shape == (2, 3, 1, 2, 4)
    for wrong in (lambda: x.expand(-1, 1, 2, 4), lambda: x.expand(2, 4), lambda: x.expand(None)):
        with pytest.raises((heed.Error, TypeError)):
            wrong()


def test_shapes(device):
    a = array(2, 3, 4)
    y = run(device, lambda g, x: x.reshape(-1, 4).transpose(0, 1), x=a)
    assert (y == a.reshape(-1, 4).T).all()
    y = run(device, lambda g, x: x.permute(2, 0, 1).expand([5, 4, 2, 3]), x=a)
    assert (y == np.broadcast_to(a.transpose(2, 0, 1), [5, 4, 2, 3])).all()
    y = run(device, lambda g, x: g.concat(g.split(x, 2, axis=-1)[::-1], 2), x=a)
    assert (y == np.concatenate([a[..., 2:], a[..., :2]], 2)).all()
    y = run(device, lambda g, x: g.concat(g.split(x, [2, 1], 1), 1), x=a)
    assert (y == a).all()


@pytest.mark.parametrize("axes", [0, -1, (1,), (0, 2), (-1, 1), [0, 1, 2]])
def test_reductions(device, axes):
    a = array(4, 5, 6)
    numpy_axes = tuple(axes) if isinstance(axes, (list, tuple)) else axes
    whole = (1,) if np.ndim(a.sum(numpy_axes)) == 0 else a.sum(numpy_axes).shape
    assert close(run(device, lambda g, x: x.sum(axes), x=a), a.sum(numpy_axes).reshape(whole))
    assert close(run(device, lambda g, x: x.mean(axes), x=a), a.mean(numpy_axes).reshape(whole))


# Operators as in numpy, also where numpy decides: a number on the left, and comparisons with None.
OPERATORS = {
    "a + 1": (lambda a: a + 1.5), "1 + a": (lambda a: 1 + a), "a - 1": (lambda a: a - 2.25), "1 - a": (lambda a: 1 - a),
    "2 * a": (lambda a: 2 * a), "a * 2": (lambda a: a * np.float32(2)), "number of numpy * a": (lambda a: np.float64(2.5) * a),
    "a / 2": (lambda a: a / 3), "1 / a": (lambda a: 1 / (a + 9)), "a / b": (lambda a: a / (a * a + 1)),
    "-a": (lambda a: -a), "+": (lambda a: abs(a)), "a ** 2": (lambda a: a ** 2), "2 ** a": (lambda a: 2 ** a),
    "a ** b": (lambda a: abs(a) ** a), "a % 0.5": (lambda a: a % 0.75), "2 % a": (lambda a: 2 % (abs(a) + 0.5)),
    "a < 0": (lambda a: a < 0), "0 < a": (lambda a: 0 < a), "a <= b": (lambda a: a <= -a), "a > b": (lambda a: a > -a),
    "a >= 0.5": (lambda a: a >= 0.5), "a == a": (lambda a: a == a), "a == 0": (lambda a: a == 0), "a != 0": (lambda a: a != 0),
    "and": (lambda a: (a > 0) & (a < 1)), "or": (lambda a: (a < -1) | (a > 1)), "not": (lambda a: ~(a > 0)),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operator(device, name):
    expected = OPERATORS[name](X)
    result = run(device, lambda g, x: OPERATORS[name](x), x=X)
    assert result.dtype == (np.uint8 if expected.dtype == bool else np.float32) and close(result, expected)


def test_operators_of_whole_numbers_and_halves(device):
    ints, half = np.array([[-7, 0, 5, 2**31 - 1]], np.int32), array(2, 9).astype(np.float16)
    with np.errstate(over="ignore"):
        for f in (lambda a: a + 1, lambda a: 1 - a, lambda a: 3 * a, lambda a: -a, lambda a: abs(a), lambda a: a % 4, lambda a: a != 5):
            assert (run(device, lambda g, x: f(x), x=ints) == f(ints)).all()
    assert (run(device, lambda g, x: g.div(x, 2), x=ints) == np.trunc(ints / 2)).all()
    result = run(device, lambda g, x: g.cast(abs(x * 2 - 1), "f32"), x=half)
    assert close(result, abs(half.astype(np.float32) * 2 - 1).astype(np.float16))
    x = run(device, lambda g, x: g.maximum(g.where(x > 0, x, 0.5), 0.75), x=X)
    assert (x == np.maximum(np.where(X > 0, X, np.float32(0.5)), 0.75)).all()


def test_tensors_are_keys_and_compare_with_nothing():
    g = heed.Graph()
    x, y = g.input("x", [3]), g.input("y", [3])
    assert {x: 1, y: 2}[y] == 2 and x in [y, x][1:] and len({x, y, x}) == 2
    assert (x == None) is False and (x != None) is True and (x == "x") is False  # noqa: E711
    with pytest.raises(TypeError, match="truth"):
        x in [y]


def test_a_notebook_goes_on_after_a_mistake(cpu):
    g = heed.Graph()
    x = g.input("x", [3, 5])
    w = g.weight("w", [7, 5])
    for wrong in (lambda: x @ x, lambda: g.reshape(x, [4, 4]), lambda: g.output("x", x), lambda: g.input("x", [2]),
                  lambda: g.extent("n", 0), lambda: heed.nn.self_attention(x, "a", heads=3),
                  lambda: heed.nn.encoder_stack(x, "b", layers=2, attention=heed.nn.MultiHeadOptions(heads=2)),
                  lambda: g.custom("c", [x], [([3], "f32"), ([-1], "f32")]), lambda: heed.train.gradients(x, [w]),
                  lambda: g.append(g.state("s", [2, 5]), x, 0, 0)):
        with pytest.raises(heed.Error) as failure:
            wrong()
        assert failure.value.message
    with g.label("part"):
        with pytest.raises(heed.Error):
            x @ x
        y = x @ g.transpose(w, 0, 1)
    g.output("y", y)
    assert list(g.weights()) == ["w"]  # no failed layer has left a weight
    values = {"w": array(7, 5)}
    plan = cpu.compile(g, cpu.upload(values))
    assert plan.passes()[0].label.startswith("part.")
    a = array(3, 5)
    assert close(plan.run({"x": a})["y"], a @ values["w"].T)


def test_weights(cpu):
    g = heed.Graph()
    g.output("y", heed.nn.linear(g.input("x", [1, 4]), "fc", 3))
    assert g.weights() == {"fc.weight": ((3, 4), "f32"), "fc.bias": ((3,), "f32")}
    with pytest.raises(heed.Error) as failure:
        cpu.compile(g, cpu.upload({"fc.weight": array(4, 3), "bias": array(3)}))
    assert failure.value.status == heed.Status.MISSING_WEIGHT
    for name in ("'fc.weight' is f32 [4, 3]; the graph says f32 [3, 4]", "'fc.bias' (f32 [3] is needed)", "'bias'"):
        assert name in failure.value.message


def test_unused_weights_are_a_warning_or_an_error(cpu, caplog):
    g = heed.Graph()
    g.output("y", heed.nn.linear(g.input("x", [1, 4]), "fc", 3, bias=False))
    weights = cpu.upload({"fc.weight": array(3, 4), "fc.bias": array(3)})
    plan = cpu.compile(g, weights)
    assert not [r for r in caplog.records if r.name == "heed"]  # a later graph may use it
    for _ in range(2):
        plan.run({"x": array(1, 4)})
        assert [r.message for r in caplog.records if r.name == "heed"] == ["run: no graph uses the uploaded 'fc.bias'"]
    with pytest.raises(heed.Error, match="no graph uses the uploaded 'fc.bias'"):
        cpu.compile(g, weights, strict=True)


def test_an_extent_that_no_input_tells_must_be_given(device):
    g = heed.Graph()
    n = g.extent("rows", 4)
    g.output("y", g.slice(g.input("x", [4, 2]), 0, 0, n))
    plan = device.compile(g)
    a = array(4, 2)
    with pytest.raises(heed.Error, match="extent 'rows' is not given"):
        plan.run({"x": a})
    assert (plan.run({"x": a}, extents={"rows": 3})["y"] == a[:3]).all()


def torch_tensor():
    """PyTorch's dtype, without PyTorch installed."""
    return type("Tensor", (), {"__module__": "torch", "__array__": lambda self: np.ones(4)})()


@pytest.mark.parametrize("call, named", [
    (lambda g, x: g.add(x, "3"), "b must be a Tensor, not str"),
    (lambda g, x: g.add(3, 4), "a must be a Tensor, not int"),
    (lambda g, x: x + "3", "unsupported operand"),
    (lambda g, x: x + np.ones(4), "an operand is a ndarray; Graph.constant"),
    (lambda g, x: np.ones(4) == x, "an operand is a ndarray"),
    (lambda g, x: g.cast(x, "i32") + 0.5, "b is 0.5 beside a tensor of i32"),
    (lambda g, x: g.cast(x, "i32") / 2, "Graph.div"),
    (lambda g, x: x[:, x], "take"),
    (lambda g, x: x[:, x:], "take"),
    (lambda g, x: g.linear(x, np.ones(3)), "weight must be a Tensor, not ndarray; Graph.input, weight and constant"),
    (lambda g, x: x + torch_tensor(), "an operand is a torch.Tensor; Graph.constant"),
    (lambda g, x: g.linear(x, torch_tensor()), "weight must be a Tensor, not torch.Tensor; Graph.input"),
    (lambda g, x: heed.nn.linear(torch_tensor(), "fc", 4), "x must be a Tensor, not torch.Tensor"),
    (lambda g, x: heed.exclude(torch_tensor()), "tensor must be a Tensor, not torch.Tensor"),
    (lambda g, x: g.softmax(x, mask=torch_tensor()), "heed.exclude, not torch.Tensor"),
    (lambda g, x: g.concat([x, None], 0), r"parts\[1\] must be a Tensor"),
    (lambda g, x: g.concat(x, 0), "Tensor"),
    (lambda g, x: g.scale(x, "2"), "factor is '2'"),
    (lambda g, x: g.mean(x, 1.5), "axis is 1.5"),
    (lambda g, x: g.mean(x, 1 << 40), "axis is 1099511627776"),
    (lambda g, x: g.reshape(x, [2, "a"]), r"shape\[1\] must be a whole number or a Dim, not str"),
    (lambda g, x: g.reshape(x, None), "shape must be a list"),
    (lambda g, x: g.permute(x, [0, 1.0]), r"axes\[1\] is 1.0"),
    (lambda g, x: g.softmax(x, bias=1), "bias must be a Tensor, not int"),
    (lambda g, x: g.softmax(x, scale="1"), "scale is '1'"),
    (lambda g, x: g.layernorm(x, eps=None), "eps is None"),
    (lambda g, x: g.input(3, [1]), "name must be str"),
    (lambda g, x: g.extent("n", 2.5), "most is 2.5"),
    (lambda g, x: x[0.5], "an index is 0.5"),
    (lambda g, x: x[x], "take"),
    (lambda g, x: x[0, 0, 0, 0], "4 indices for a tensor of rank 3"),
    (lambda g, x: x[:, 3:3], "is empty"),
    (lambda g, x: list(x), "iterated"),
    (lambda g, x: bool(x), "truth"),
    (lambda g, x: x.sum((0, 0)), "axis is"),
    (lambda g, x: g.split(x, 4, 1), "parts is 4"),
    (lambda g, x: heed.nn.linear(3, "fc", 4), "x must be a Tensor"),
    (lambda g, x: heed.nn.linear(x, "fc", "4"), "out is '4'"),
    (lambda g, x: heed.nn.encoder_layer(x, "l", heads=2), r"no field of EncoderLayerOptions; give attention=MultiHeadOptions\(heads=...\)"),
    (lambda g, x: heed.nn.decoder_layer(x, x, "l", heads=2), "give self_attention=.* or cross_attention=MultiHeadOptions"),
    (lambda g, x: heed.nn.self_attention(x, "a", attn_mask=x), "'attn_mask' is no field of MultiHeadOptions; give mask"),
    (lambda g, x: heed.nn.self_attention(x, "a", num_heads=2), "give heads"),
    (lambda g, x: heed.nn.self_attention(x, "a", qqq=2), "'qqq' is no field of MultiHeadOptions$"),
    (lambda g, x: heed.nn.encoder_layer(x, "l", norm="pre"), "norm must be NormOptions, not str"),
    (lambda g, x: heed.nn.encoder_layer(x, "l", attention={"heads": 2}), "attention must be MultiHeadOptions, not dict"),
])
def test_type_errors_name_the_argument(call, named):
    g = heed.Graph()
    x = g.input("x", [2, 3, 4])
    with pytest.raises((TypeError, ValueError, IndexError), match=named):
        call(g, x)
    g.output("y", x)  # the graph is unchanged


def public(module):
    for name in module.__all__:
        yield f"{module.__name__}.{name}", getattr(module, name)


FILES = sorted(pathlib.Path(heed.__file__).parent.glob("[a-z]*.py"))
MODULES = [heed, *(importlib.import_module(f"heed.{file.stem}") for file in FILES)]


def test_everything_public_has_a_docstring():
    lacking = []
    for name, value in [pair for module in MODULES for pair in public(module)]:
        if inspect.isclass(value):
            members = {key: getattr(member, "__func__", member) for key, member in vars(value).items() if not key.startswith("_")}
            told = [key for key, member in members.items() if (inspect.isfunction(member) or isinstance(member, property))]
            lacking += [f"{name}.{key}" for key in told if not (members[key].__doc__ or "").strip()]
        if (inspect.isclass(value) or inspect.isfunction(value)) and not (value.__doc__ or "").strip():
            lacking.append(name)
        if inspect.isclass(value) and dataclasses.is_dataclass(value) and value.__doc__.startswith(value.__name__ + "("):
            lacking.append(name)
    assert lacking == []


def test_every_option_and_result_is_told():
    lacking = []
    for name, value in [pair for module in (heed, heed.nn, heed.train) for pair in public(module) if inspect.isclass(pair[1])]:
        fields = [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else getattr(value, "_fields", ())
        lacking += [f"{name}.{field}" for field in fields if not re.search(rf"\b{field}\b", value.__doc__)]
    assert lacking == []


# Calls without tensors whose shapes could be described.
WITHOUT_SHAPES = {"find_weight", "label", "number", "position", "sum", "extent", "dim_product", "dim_difference", "dim_quotient",
                  "dim_floor_quotient"}


def test_operations_and_layers_tell_shapes():
    members = [(name, value) for base in heed.Graph.__mro__ for name, value in vars(base).items() if inspect.isfunction(value)]
    members += [(name, getattr(heed.nn, name)) for name in heed.nn.__all__ if inspect.isfunction(getattr(heed.nn, name))]
    told = {name: value.__doc__ for name, value in members if not name.startswith("_") and name not in WITHOUT_SHAPES}
    assert len(told) > 90
    assert [name for name, text in told.items() if not re.search(r"\[|shape|ax[ie]s|rank", text, re.IGNORECASE)] == []


def test_nothing_private_is_public():
    for module in MODULES:
        assert all(not name.startswith("_") for name in module.__all__)
        for name, value in public(module):
            assert not inspect.ismodule(value) or value in MODULES, name
            assert getattr(value, "__module__", "heed").startswith(("heed", "typing")) or isinstance(value, str), name
    assert heed.Error.__module__ == "heed"  # as tracebacks show it


def test_help_shows_layers_and_options():
    text = pydoc.plain(pydoc.render_doc(heed))
    for part in ("heed.nn", "heed.train", "self_attention", "class Graph", "cross_entropy"):
        assert part in text
    options = pydoc.plain(pydoc.render_doc(heed.nn.MultiHeadOptions))
    assert "dropout" in options and '"top_left"' in options
    assert "bottom_right" in pydoc.plain(pydoc.render_doc(heed.Graph.attention))


def test_messages_speak_of_pythons_names(cpu):
    g = heed.Graph()
    x = g.input("x", [g.extent("n", 4), 2])
    g.output("y", x)
    plan = cpu.compile(g)
    calls = [lambda: plan.run({"x": array(5, 2)}), lambda: g.softmax(x, causal="left"), lambda: g.custom("c", [x], []),
             lambda: heed.Checkpoint("nowhere.safetensors"), lambda: heed.Device("nothing"), lambda: g.extent("n", 5),
             lambda: heed.nn.linear(x, "", 0), lambda: g.input("z", [-1]), lambda: plan.make_state().read("none"),
             lambda: plan.timings(), lambda: cpu.use_tuning(b"1"), lambda: heed.train.Optimizer().add("w", [0]),
             lambda: heed.TextGenerator(cpu, "nowhere.gguf"), lambda: heed.DecoderConfig.parse("{}")]
    for call in calls:
        with pytest.raises((heed.Error, ValueError, TypeError, OSError)) as failure:
            call()
        assert "heed_" not in str(failure.value) and "HEED_" not in str(failure.value) and "NULL" not in str(failure.value)
