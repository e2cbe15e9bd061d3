"""Runs each block of Python on the READMEs by itself, in a folder that has the files it names."""

import functools
import re
import shutil

import pytest

import heed
from conftest import LOADER, ROOT

# onnx_test.py and tests/onnx/pytorch.py run the blocks of from_onnx.md, since one block reads what another writes.
GUIDE = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "include/heed/guide").glob("*.md") if page.stem != "from_onnx")
BLOCKS = [(path, block) for path in ("README.md", "engine/python/README.md", *GUIDE)
          for block in re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(), re.S)]


@pytest.mark.parametrize("path, block", BLOCKS, ids=[f"{path}:{block.count(chr(10))} lines" for path, block in BLOCKS])
def test_block(path, block, monkeypatch, tmp_path, capsys):
    if "import heed, torch" in block:
        pytest.importorskip("torch")
    shutil.copy(ROOT / "tests/talk/tiny.gguf", tmp_path / "model.gguf")
    shutil.copytree(ROOT / "tests/speech/english", tmp_path / "whisper-tiny.en")
    shutil.copy(ROOT / "tests/speech/open-door.wav", tmp_path / "speech.wav")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(heed, "Device", functools.partial(heed.Device, vulkan_loader=LOADER))
    names = {}
    exec(block, names)
    printed = capsys.readouterr().out
    assert printed
    for shown in re.findall(r"print\(.*?# ((?:tensor)?\(.*\))$", block, re.M):
        assert shown in printed
    if "heed.train" in block:
        assert names["result"]["loss"][0] < 1 and (tmp_path / "model.safetensors").stat().st_size > 2560


def test_there_are_blocks():
    assert len(BLOCKS) >= 5
