"""The check of samples/ports detects errors. The test python.ports runs it on every device."""

import sys

import pytest

from conftest import ROOT

torch = pytest.importorskip("torch")
sys.path.insert(0, str(ROOT / "samples" / "ports"))

import check  # noqa: E402
import table  # noqa: E402

MODELS = [name for name in check.PORTS if name != "table"]


def worst(port, device):
    return max(port.errors_on(device).values())


def test_all_are_there():
    assert {name.split(".")[0] for name in MODELS} == {"encoder", "encoder_decoder", "vit", "t5", "conv_front_end", "ppo"}
    assert len(list(table.code_of_rows())) >= 67


@pytest.mark.parametrize("name", MODELS)
def test_each_weight_counts(cpu, name):
    port = check.made(name)
    for changed, values in port.weights.items():
        other = port._replace(weights={**port.weights, changed: values + 0.1 * torch.randn(values.shape)})
        assert worst(other, cpu) > check.LIMIT, changed


@pytest.mark.parametrize("name", MODELS)
def test_each_input_counts(cpu, name):
    port = check.made(name)
    for changed, values in port.inputs.items():
        other = port._replace(inputs={**port.inputs, changed: values.roll(1, -1)})
        assert worst(other, cpu) > check.LIMIT, changed
