"""Passes an invalid value as every argument of every call: the error must name the argument."""

import inspect

import numpy as np
import pytest

import heed


class Odd:
    """A value that is invalid for every argument."""


def functions_of(module):
    return {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__ if inspect.isfunction(getattr(module, name))}


def methods_of(kind, skipped=()):
    found = inspect.getmembers(kind, inspect.isfunction)
    return {f"{kind.__name__}.{name}": value for name, value in found if not name.startswith("_") and name not in skipped}


# Calls with only a time limit are slow, and are left out.
CALLS = {**methods_of(heed.Graph), **functions_of(heed.nn), **functions_of(heed.train), **methods_of(heed.Tensor),
         **methods_of(heed.Device, ("self_test", "tune", "operation_bits")), **methods_of(heed.Plan), **methods_of(heed.State),
         **methods_of(heed.train.Optimizer), "exclude": heed.exclude, "keep": heed.keep, "Device": heed.Device, "Checkpoint": heed.Checkpoint,
         "TextGenerator": heed.TextGenerator, "TextEncoder": heed.TextEncoder, "DecoderModel": heed.DecoderModel, "Tokenizer": heed.Tokenizer,
         "SpeechRecognizer": heed.SpeechRecognizer}


def parameters(call):
    return [p for p in inspect.signature(call).parameters.values() if p.name != "self" and p.kind is not p.VAR_KEYWORD]


ARGUMENTS = [(name, p.name) for name, call in CALLS.items() for p in parameters(call)]


class Things:
    """Valid arguments by name, and a tensor for other names."""

    def __init__(self, device):
        g = self.graph = heed.Graph()
        x = self.x = g.input("in", [2, 3, 4])
        state = g.append(g.state("kept", [2, 3, 4]), x, 0, 0)
        w = g.weight("w", [5, 4])
        g.output("out", g.linear(state, w))
        weights = {"w": np.ones((5, 4), np.float32)}
        self.device = device
        self.plan = device.compile(g, device.upload(weights))
        self.state = self.plan.make_state()
        self.optimizer = heed.train.Optimizer()
        self.optimizer.add("w", [5, 4])
        array = np.ones((2, 3, 4), np.float32)
        mask = heed.keep(x)
        self.given = {
            "axis": 0, "axes": [0, 1, 2], "axis_a": 0, "axis_b": 1, "shape": [2, 12], "begin": 0, "size": 1, "step": 1, "index": 0, "p": 0.5,
            "low": 0.0, "high": 1.0, "dtype": "f32", "most": 5, "name": "name", "value": 1.0, "factor": 2.0, "eps": 1e-5,
            "at": 0, "parts": [x, x], "prefix": "p", "out": 3, "gradients": [x], "of": [x], "outputs": [([2], "f32")], "inputs": [x],
            "config": heed.BertConfig(), "padding": mask, "graph": g, "g": g, "tensors": weights, "results": b"", "values": array,
            "other": self.state, "saved": b"", "from_row": 0, "to_row": 0, "state": self.state, "settings": x, "path": "none", "folder": "none",
            "device": device, "kind": "relu"}

    def right(self, name, p):
        """A valid argument for a parameter of the call with this name."""
        if str(p.annotation).strip("'") in ("Tensor", "Operand"):
            return self.x
        special = {("Plan.run", "inputs"): {"in": np.ones((2, 3, 4), np.float32)}, ("Graph.split", "parts"): 2, ("Graph.pool", "kind"): "max",
                   ("State.read", "name"): "kept", ("Graph.reduce", "kind"): "sum", ("heed.train.gradients", "outputs"): self.x.sum([0, 1, 2]),
                   ("heed.nn.decoder", "config"): heed.DecoderConfig(layers=1, width=4, heads=1, vocabulary=5)}
        return special.get((name.replace("start", "run"), p.name), self.given.get(p.name, 1))

    def of(self, name):
        return {"Graph": self.graph, "Tensor": self.x, "Device": self.device, "Plan": self.plan, "State": self.state,
                "Optimizer": self.optimizer}.get(name.split(".")[0]) if "." in name and not name.startswith("heed.") else None


@pytest.mark.parametrize("name, argument", ARGUMENTS)
def test_errors_name_the_argument(cpu, name, argument):
    things, call = Things(cpu), CALLS[name]
    positional, keywords = [], {}
    for p in parameters(call):
        if p.kind is p.VAR_POSITIONAL:
            positional = [Odd()]
        elif p.name == argument or p.default is p.empty:
            keywords[p.name] = Odd() if p.name == argument else things.right(name, p)
    of = things.of(name)
    with pytest.raises((TypeError, ValueError)) as failure:
        made = call(*([] if of is None else [of]), *positional, **keywords)
        if name == "Graph.label":
            made.__enter__()
    # For `axes` in a variable argument list, each element is one axis.
    assert argument in str(failure.value) or argument.rstrip("s") in str(failure.value)
