"""What the READMEs show runs."""

import functools
import re

import numpy as np
import pytest

import heed
from conftest import LOADER, ROOT


class Module:
    """Stands for a module of PyTorch."""

    def state_dict(self):
        random = np.random.default_rng(2)
        shapes = {"wqkv.weight": (192, 64), "wqkv.bias": (192,), "wo.weight": (64, 64), "wo.bias": (64,)}
        return {"flock." + name: random.standard_normal(shape, np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("path", ["README.md", "engine/python/README.md"])
def test_ten_lines(path, monkeypatch, capsys):
    monkeypatch.setattr(heed, "Device", functools.partial(heed.Device, vulkan_loader=LOADER))
    code = re.search(r"```python\n(import heed.*?)```", (ROOT / path).read_text(), re.S).group(1)
    names = {"module": Module()}
    exec(code, names)
    assert np.isfinite(names.get("y") if isinstance(names.get("y"), np.ndarray) else names["result"]["y"]).all()
    assert "(1, 37, 64) (1, 4, 37, 37)" in capsys.readouterr().out or "result" not in names


def test_a_model_that_learns(monkeypatch, tmp_path):
    class Layer:
        def state_dict(self):
            random = np.random.default_rng(3)
            return {"fc.weight": random.standard_normal((10, 64), np.float32) / 8, "fc.bias": np.zeros(10, np.float32)}

    random = np.random.default_rng(4)
    x = random.standard_normal((32, 64), np.float32)
    monkeypatch.setattr(heed, "Device", functools.partial(heed.Device, vulkan_loader=LOADER))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(import heed.*?)```", (ROOT / "engine/python/README.md").read_text(), re.S)
    code, = [block for block in blocks if "heed.train" in block]
    names = {"module": Layer(), "batches": [{"x": x, "labels": random.integers(0, 10, 32, np.int32)}] * 60}
    exec(code, names)
    assert names["result"]["loss"][0] < 2 and (tmp_path / "model.safetensors").stat().st_size > 2560


def test_three_lines_with_a_language_model(monkeypatch, capsys):
    device = heed.Device("cpu", vulkan_loader=LOADER)
    model = heed.TextGenerator(device, ROOT / "tests/talk/tiny.gguf")
    monkeypatch.setattr(heed, "TextGenerator", lambda *arguments: model)
    begin = model.begin
    monkeypatch.setattr(model, "begin", lambda **options: begin(most_tokens=5, **options))
    code = re.search(r"```python\n(model = .*?)```", (ROOT / "engine/python/README.md").read_text(), re.S).group(1)
    exec(code, {"heed": heed, "device": device})
    assert capsys.readouterr().out
