"""Runs the 30 attention systems of the golden files in heed and in PyTorch, forward and backward, and compares both with the stored
results.

    python samples/python/compare.py                        # on every device of this machine
    python samples/python/compare.py --device cpu 000 003   # one device, some families
    python samples/python/compare.py --draw build/maps      # and draws the attention maps with matplotlib

README.md beside this file says what to install. Without PyTorch, heed is compared with the stored results only.
"""

import argparse
import os
import pathlib
import sys

import numpy as np

import gradients
import heed
from case import GOLDENS, GRADIENTS, Case
from pytorch import torch
from systems import SYSTEMS, distance


def run_heed(device, path, **options):
    """The results of one file, and the case."""
    case = Case(path, **options)
    g = heed.Graph()
    for name, tensor in SYSTEMS[case.system][1](case, g).items():
        if name in case or name.startswith("weights"):
            g.output(name, tensor)
    weights = device.upload(case.weights) if case.weights else None
    return device.compile(g, weights).run(case.fed), case


def run_pytorch(path):
    case = Case(path)
    return {name: tensor.detach().numpy() for name, tensor in SYSTEMS[case.system][0](case).items()}


def dead_rows(results, nan_rows):
    """[B, S_q]: rows in which some head's weights [B, H, S_q, S_kv] are all zero."""
    dead = np.zeros(nan_rows.shape, bool)
    for name, array in results.items():
        if name.startswith("weights"):
            dead |= (array == 0).all(-1).any(1)
    return dead


def problems_of(path, device):
    """Errors of heed's results for a file on a device, and their largest differences from the stored ones and from PyTorch's.

        A file is run three times: with fixed sizes, with extents, and with attention weights as an output, which other kernels
        compute."""
    problems, worst, beside = [], 0.0, 0.0
    in_torch = run_pytorch(path) if torch is not None else {}
    done = set()
    for options in ({}, {"extents": True}, {"return_weights": True}):
        results, case = run_heed(device, path, **options)
        nan_rows = case.nan_rows
        for name, b in case.expected.items():
            if name not in results:
                continue
            a = results[name]
            done.add(name)
            if a.shape != b.shape:
                problems.append(f"{name} has the shape {a.shape}, not {b.shape}")
                continue
            far, within = distance(a, b)
            worst = max(worst, far)
            if not within:
                problems.append(f"{name} is {far:.1e} from the stored result with {options}")
            if name in in_torch:
                c = in_torch[name]
                # For a query without visible keys PyTorch gives NaN, also in the rest of its row.
                rows = np.isnan(c).any(-1)
                if (rows != (False if nan_rows is None else nan_rows)).any():
                    problems.append(f"{name} is NaN in PyTorch in other rows than the file says")
                far, within = distance(a[~rows], c[~rows])
                beside = max(beside, far)
                if not within:
                    problems.append(f"{name} is {far:.1e} from PyTorch's result with {options}")
        if options.get("return_weights") and nan_rows is not None and (dead_rows(results, nan_rows) != nan_rows).any():
            problems.append("other rows see no key than the file says")
    problems += [f"{name} was not computed" for name in case.expected if name not in done]
    return problems, worst, beside


def draw(device, folder):
    """Draws attention maps of one file of each system that has weights: heed's, PyTorch's, and their difference."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from PIL import Image  # a dependency of matplotlib

    rows = []
    for system in SYSTEMS:
        path = sorted(GOLDENS.glob(system.replace(".", "_") + "*real*")) or sorted(GOLDENS.glob(system.replace(".", "_") + "*"))
        results, case = run_heed(device, path[0], return_weights=True)
        maps = [name for name in results if "weights" in name or "attn" in name]
        if maps:
            in_torch = run_pytorch(path[0]) if torch is not None else {}
            rows.append((system, results[maps[0]], in_torch.get(maps[0])))
    columns = 8
    lines = -(-len(rows) // columns)
    figure, axes = pyplot.subplots(2 * lines, columns, figsize=(1.4 * columns, 3.2 * lines), squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for i, (system, *maps) in enumerate(rows):
        for j, (name, weights) in enumerate(zip(("heed", "PyTorch"), maps)):
            if weights is None:
                continue
            axis = axes[2 * (i // columns) + j][i % columns]
            axis.imshow(weights.reshape(-1, *weights.shape[-2:])[0], cmap="magma", vmin=0, interpolation="nearest")
            axis.set_title(f"{system}\n{name}" if j == 0 else name, fontsize=6)
    folder.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(folder / "attention.png", dpi=80)
    Image.open(folder / "attention.png").convert("RGB").quantize(64).save(folder / "attention.png", optimize=True)
    print(f"drew {folder / 'attention.png'}")


def devices(select, loader):
    if select != "all":
        return [heed.Device(select, vulkan_loader=loader)]
    return [heed.Device(info.word, vulkan_loader=loader) for info in heed.devices(vulkan_loader=loader) if info.usable]


def main():
    parser = argparse.ArgumentParser(description="Attention systems in heed and in PyTorch.")
    parser.add_argument("names", nargs="*", help="beginnings of files' names, such as 000 or 004_transformer; default: all")
    parser.add_argument("--device", default="all", help="a part of a device's name; default: every device")
    parser.add_argument("--draw", type=pathlib.Path, metavar="FOLDER", help="draw attention maps there")
    options = parser.parse_args()
    if torch is None:
        print("PyTorch is not installed (Debian: python3-torch): heed is compared with the stored results alone")

    files = [(path, check) for folder, check in ((GOLDENS, problems_of), (GRADIENTS, gradients.problems_of))
             for path in sorted(folder.glob("*.safetensors")) if path.name.startswith(tuple(options.names) or "")]
    if not files:
        sys.exit("no file has a name that begins so")
    failed = 0
    chosen = devices(options.device, os.environ.get("HEED_VULKAN_LOADER"))
    for device in chosen:
        for path, check in files:
            problems, worst, beside = check(path, device)
            failed += bool(problems)
            verdict = "FAIL" if problems else "ok"
            print(f"{verdict} {path.parent.name}/{path.stem} {device.info.word} stored {worst:.1e}" + (f" PyTorch {beside:.1e}" if torch else ""))
            for problem in problems:
                print(f"     {problem}")
    if options.draw:
        draw(chosen[0], options.draw)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
