"""Tests with the argument `device` run on each device of the driver that tests/drivers/with.sh chose, and on the CPU."""

import os
import pathlib
import signal
import sys

import pytest

import heed

# A shell that starts the tests in the background makes them ignore interrupts, and Python does not change that.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = os.environ.get("HEED_VULKAN_LOADER")
sys.path.insert(0, str(ROOT / "samples" / "python"))

WORDS = [info.word for info in heed.devices(vulkan_loader=LOADER) if info.usable]


@pytest.fixture(scope="session", params=WORDS)
def device(request):
    return heed.Device(request.param, vulkan_loader=LOADER)


@pytest.fixture(scope="session")
def cpu():
    return heed.Device("cpu", vulkan_loader=LOADER)
