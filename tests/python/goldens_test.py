"""The golden files in Python, on every device: the stored results and gradients, and PyTorch's if it is installed."""

import os

import pytest

import compare
import gradients
import heed
from case import GOLDENS, GRADIENTS

FILES = sorted(GOLDENS.glob("*.safetensors"))
GRADIENT_FILES = sorted(GRADIENTS.glob("*.safetensors"))


def of_each_fifth(files):
    """The first file of each fifth system."""
    firsts = {heed.Checkpoint(path).metadata["system"]: path for path in reversed(files)}
    return {firsts[system] for system in sorted(firsts)[::5]}


CHOSEN = of_each_fifth(FILES) | of_each_fifth(GRADIENT_FILES)


def skip_most(device, path):
    """A software driver needs seconds to compile the kernels of a file, and other tests run all files on it."""
    if device.info.kind != "cpu" and path not in CHOSEN and os.environ.get("HEED_ALL_GOLDENS") != "1":
        pytest.skip("one file of each fifth system on GPUs, unless HEED_ALL_GOLDENS=1")


def test_all_files_are_there():
    assert len(FILES) == 108
    assert len(GRADIENT_FILES) == 107
    assert len(compare.SYSTEMS) == 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden(device, path):
    skip_most(device, path)
    problems, worst, _ = compare.problems_of(path, device)
    assert not problems
    assert 0 < worst < 1e-3 or "embedding" in path.stem


@pytest.mark.parametrize("path", GRADIENT_FILES, ids=lambda path: path.stem)
def test_gradients(device, path):
    skip_most(device, path)
    ways = gradients.WAYS if device.info.kind == "cpu" else gradients.WAYS[1:]
    assert not gradients.problems_of(path, device, ways)[0]


def test_a_wrong_result_is_seen(cpu, monkeypatch):
    path = GOLDENS / "003_simplified_odd.safetensors"
    run_heed = compare.run_heed

    def off_by_little(*arguments, **options):
        results, case = run_heed(*arguments, **options)
        results["expected"][0, 0] += 1e-3
        return results, case

    monkeypatch.setattr(compare, "run_heed", off_by_little)
    assert compare.problems_of(path, cpu)[0]


@pytest.mark.parametrize("name", ["expected", "x", "w_query.weight"])
def test_a_wrong_gradient_is_seen(cpu, monkeypatch, name):
    path = GRADIENTS / "003_mha_odd.safetensors"
    in_heed = gradients.in_heed

    def off_by_little(*arguments, **options):
        results, found, case = in_heed(*arguments, **options)
        (results if name == "expected" else found)[name].flat[-1] += 1e-3
        return results, found, case

    monkeypatch.setattr(gradients, "in_heed", off_by_little)
    assert gradients.problems_of(path, cpu)[0]
