#!/usr/bin/env python3
"""Runs the ONNX files of a folder on every device, and prints a table in Markdown: models, devices, and the worst error of all
stored outputs divided by its tolerance (1e-4 + 1e-4 |y|), so that at most 1 is right; or the reason why heed refuses the file.

  table.py FOLDER [--programs BUILD] [--only NAME,NAME] [--drivers none,lavapipe-256,swiftshader,interpreter]

FOLDER has NAME.onnx and NAME.npz with in.CASE.INPUT and out.CASE.OUTPUT. BUILD (default: build) has tests/heed_tests, which runs
the models (files_test.cpp). The interpreter runs one small case of each model. Exit code: 1 if a result is wrong. Needs numpy.
"""
import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DRIVERS = {"none": ("CPU", "cpu"), "lavapipe-256": ("lavapipe", "llvmpipe"), "swiftshader": ("SwiftShader", "swiftshader"),
           "interpreter": ("interpreter", "spirv:nvidia")}
TYPES = {"float32": ("F32", np.float32), "float64": ("F32", np.float32), "float16": ("F16", np.float16), "bool": ("U8", np.uint8),
         "uint8": ("U8", np.uint8), "int32": ("I32", np.int32), "int64": ("I32", np.int32)}


def write_safetensors(path, arrays):
    header, parts, at = {}, [], 0
    for name, array in arrays.items():
        word, dtype = TYPES[array.dtype.name]
        bounds = np.iinfo(np.int32) if word == "I32" else None
        data = (np.clip(array, bounds.min, bounds.max) if bounds else array).astype(dtype).tobytes()
        header[name] = {"dtype": word, "shape": list(array.shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def run(driver, folder, program):
    """(model, ratio, message) for a driver's device, and the seconds it took."""
    word, devices = DRIVERS[driver]
    command = [str(ROOT / "tests/drivers/with.sh"), "none" if driver == "interpreter" else driver, str(program), "[.onnx-files]"]
    env = {**os.environ, "HEED_ONNX_FILES": str(folder), "HEED_TEST_DEVICES": devices}
    begin = time.time()
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    rows = [line.split("\t")[1:] for line in done.stdout.splitlines() if line.startswith("TABLE\t")]
    if not rows:
        print(f"{word} is not to be had: {(done.stderr or done.stdout).strip()[-200:]}", file=sys.stderr)
    found = {}
    for model, device, ratio, message in rows:  # the worst of the CPU's instruction sets
        known = found.get(model)
        if known is None or not known[0] >= float(ratio):
            found[model] = (float(ratio), message)
    return word, found, time.time() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--only", default="")
    parser.add_argument("--drivers", default=",".join(DRIVERS))
    options = parser.parse_args()
    names = [p.stem for p in sorted(options.folder.glob("*.onnx")) if not options.only or p.stem in options.only.split(",")]
    results, wrong = {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for name in names:
            (scratch / f"{name}.onnx").symlink_to((options.folder / f"{name}.onnx").resolve())
            with np.load(options.folder / f"{name}.npz") as arrays:
                write_safetensors(scratch / f"{name}.safetensors", dict(arrays))
        for driver in options.drivers.split(","):
            word, found, seconds = run(driver, scratch, options.programs / "tests" / "heed_tests")
            if found:
                results[f"{word} ({seconds:.0f} s)"] = found
    print("| model | " + " | ".join(results) + " |\n|---" * 1 + "|---" * len(results) + "|")
    refused = {}
    for name in names:
        cells = []
        for found in results.values():
            ratio, message = found.get(name, (float("nan"), "not run"))
            wrong += ratio > 1
            if ratio == ratio:
                cells.append(f"{ratio:.3f}" if ratio <= 1 else f"**{ratio:.3g}**")
            else:
                cells.append("refused")
                refused[name] = message[message.find("node "):]
        print(f"| {name} | " + " | ".join(cells) + " |")
    for name, message in refused.items():
        print(f"\n{name}: {message}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
