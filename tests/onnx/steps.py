#!/usr/bin/env python3
"""Runs decoders of a folder of ONNX files for a few steps on every device, with their caches in a State and with caches that travel
through the host, and compares the outputs: "ok|FAIL model device: worst difference".

  steps.py FOLDER    models with inputs past_... and outputs present_...; others are left out
"""
import os
import pathlib
import sys

import numpy as np

import heed

LOADER = os.environ.get("HEED_VULKAN_LOADER")
MOST, BATCH, SOURCE, IDS = 16, 2, 6, 90  # size of each dim; inputs of cross attention also stay in the State


def array_of(port, sizes, random):
    """Empty arrays for a cache, random numbers for others."""
    shape = [dim if isinstance(dim, int) else sizes[dim] for dim in port.dims]
    return random.standard_normal(shape).astype(np.float32)


def input_of(name, shape, past, random):
    if "mask" in name:
        return np.ones(shape, np.int32)
    if "position" in name:
        return np.broadcast_to(np.arange(past, past + shape[1], dtype=np.int32), shape)
    return random.integers(0, IDS, shape).astype(np.int32)


def difference(path, device):
    """The largest difference between both ways, or None for a model without a cache."""
    free = heed.onnx.load(path, device, largest=MOST)
    if not free.caches:
        return None
    random, past, worst = np.random.default_rng(3), 0, 0.0
    batch, _, length, _ = free.inputs[free.caches[0][0]].dims
    others = {name: port for name, port in free.inputs.items() if len(port.dims) == 4 and name not in dict(free.caches)}
    kept = heed.onnx.load(path, device, largest=MOST, states=free.caches + [(name, "") for name in others])
    state, sizes = kept.make_state(), {batch: BATCH, length: 0}
    sizes.update({dim: SOURCE for port in others.values() for dim in port.dims if isinstance(dim, str) and dim not in sizes})
    given = {name: array_of(port, sizes, random) for name, port in others.items()}
    for name, array in given.items():
        whole = np.zeros(state.read(name).shape, np.float32)
        whole[tuple(slice(size) for size in array.shape)] = array
        state.write(name, whole)
    caches = {name: array_of(free.inputs[name], sizes, random) for name, _ in free.caches}
    for step in (3, 1, 1, 2):
        x = {}
        for name, port in free.inputs.items():
            if name in caches or name in given:
                continue
            step = min(step, port.dims[1]) if isinstance(port.dims[1], int) else step
            x[name] = input_of(name, (BATCH, past + step if "mask" in name else step), past, random)
        wanted = free.run({**x, **caches, **given})
        extents = {length: past, **{dim: SOURCE for port in others.values() for dim in port.dims if isinstance(dim, str) and dim != batch}}
        found = kept.run(x, state=state, extents=extents)
        worst = max([worst] + [float(np.abs(found[name] - wanted[name]).max()) for name in found])
        caches, past = {name: wanted[present] for name, present in free.caches}, past + step
    return worst


def main():
    failures = 0
    for info in heed.devices(vulkan_loader=LOADER):
        if not info.usable:
            continue
        device = heed.Device(info.word, vulkan_loader=LOADER)
        for path in sorted(pathlib.Path(sys.argv[1]).glob("*.onnx")):
            worst = difference(path, device)
            if worst is None:
                continue
            failures += worst > 1e-5
            print(f"{'FAIL' if worst > 1e-5 else 'ok'} {path.stem} {info.word}: {worst:.1e}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
