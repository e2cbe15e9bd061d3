#!/usr/bin/env python3
"""Runs the ONNX standard's tests of single operators through heed.onnx, on every device.

  run.py            prints one line for each operator, "ok Add: 5 right, 3 type": the number of right cases, and why others are
  refused: the
                    operator, its type, rank or attribute, or data-dependent shapes; "FAIL ..." if a result is wrong, or the counts
                    differ from counts.txt
  run.py --update   writes counts.txt
  run.py NAME...    only cases whose names contain one of these, with errors and reasons

Cases that write an operator out as others ("..._expanded") are not run.
"""

import collections
import os
import pathlib
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")

import heed  # noqa: E402
import onnx  # noqa: E402
from onnx.backend.test.case.node import collect_testcases  # noqa: E402

COUNTS = pathlib.Path(__file__).with_name("counts.txt")
LOADER = os.environ.get("HEED_VULKAN_LOADER")
# Why heed refuses a case: the first word whose text occurs in the message.
WORDS = {"no operator": "operator", "of type": "type", "DTypeMismatch": "type", "must be f32": "type", "dims; 6 are": "rank",
         "at most": "rank", "ShapeMismatch": "rank", "no elements": "shape", "depends on data": "shape", "must be at least 1": "shape"}
# Tolerance in addition to the case's own, for results near 0 and for rounded types.
ABSOLUTE, RELATIVE = 2e-6, {"float16": 2e-3, "bfloat16": 1.6e-2}
# Inputs that are constants in every exported file, such as axes: they become initializers.
PARAMETERS = {"Reshape": [1], "Expand": [1], "Tile": [1], "Unsqueeze": [1], "Squeeze": [1], "Split": [1], "TopK": [1], "CumSum": [1],
              "Trilu": [1], "OneHot": [1, 2], "Slice": [1, 2, 3, 4], "Pad": [1, 2, 3], "ConstantOfShape": [0], "Range": [0, 1, 2],
              "Dropout": [1, 2], "Resize": [1, 2, 3]}
OLDEST = 7  # older cases test the same there


def as_array(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def cases():
    for case in collect_testcases(None):
        nodes = case.model.graph.node
        if len(nodes) == 1 and not case.name.endswith("_expanded") and not case.model.functions and nodes[0].domain == "":
            yield case, nodes[0]


def difference(found, expected, case):
    """What is wrong with a result, or "". heed has no rank 0, bool or int64: masks are u8, and indices i32."""
    if expected.ndim == 0:
        found = found.reshape(())
    if found.shape != expected.shape:
        return f"the shape is {found.shape}, not {expected.shape}"
    if expected.dtype.name == "bfloat16":
        found = (found.astype(np.uint32) << 16).view(np.float32)
    a, b = found.astype(np.float64), expected.astype(np.float64)
    relative = max(case.rtol, RELATIVE.get(expected.dtype.name, 0)) if b.dtype.kind == "f" and expected.dtype.kind not in "biu" else 0
    absolute = max(case.atol, ABSOLUTE) if relative else 0
    with np.errstate(invalid="ignore"):
        right = (a == b) | (np.abs(a - b) <= absolute + relative * np.abs(b)) | (np.isnan(a) & np.isnan(b))
    return "" if right.all() else f"{(~right).sum()} of {right.size} values, such as {a[~right][0]} for {b[~right][0]}"


def file_of(case, node):
    """A case as the bytes of a file, its inputs and expected outputs; or the reason why it cannot be run."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for opset in model.opset_import:
        opset.version = max(opset.version, OLDEST) if opset.domain == "" else opset.version
    inputs, outputs = case.data_sets[0]
    try:
        given = {port.name: as_array(value) for port, value in zip(model.graph.input, inputs)}
        expected = {port.name: as_array(value) for port, value in zip(model.graph.output, outputs)}
    except (TypeError, ValueError):
        return "type"
    if any(array.dtype.kind not in "fiubV" for array in given.values()):
        return "type"
    parameters = PARAMETERS.get(node.op_type, [1] if node.op_type.startswith("Reduce") else [])
    for name in {node.input[i] for i in parameters if i < len(node.input)} & set(given):
        model.graph.initializer.append(onnx.numpy_helper.from_array(given.pop(name), name))
    if any(0 in array.shape for array in expected.values()):
        return "shape"
    try:
        file = model.SerializeToString()
        heed.onnx.load(file).build()
    except heed.Error as error:
        return next((word for text, word in WORDS.items() if text in str(error)), "attribute")
    return file, given, expected


def check(case, file, device):
    bytes, given, expected = file
    try:
        results = heed.onnx.load(bytes, device).run(given)
    except heed.Error as error:
        return str(error)
    return "; ".join(f"{name}: {wrong}" for name, array in expected.items() for wrong in [difference(results[name], array, case)] if wrong)


def main():
    asked = [word for word in sys.argv[1:] if not word.startswith("-")]
    devices = {info.word: heed.Device(info.word, vulkan_loader=LOADER) for info in heed.devices(vulkan_loader=LOADER) if info.usable}
    counts, wrong = collections.defaultdict(collections.Counter), collections.defaultdict(list)
    for case, node in cases():
        if asked and not any(word in case.name for word in asked):
            continue
        file = file_of(case, node)
        if isinstance(file, str):
            counts[node.op_type][file] += 1
            if asked:
                print(f"{case.name}: {file}")
            continue
        found = [f"{case.name} on {word}: {text}" for word, device in devices.items() for text in [check(case, file, device)] if text]
        counts[node.op_type]["wrong" if found else "right"] += 1
        wrong[node.op_type] += found
    # Operators without any running case are listed together.
    for op in [op for op in counts if not asked and not counts[op]["right"] + counts[op]["wrong"]]:
        counts["others"] += counts.pop(op)
    lines = {op: ", ".join(f"{count} {word}" for word, count in sorted(counts[op].items(), key=lambda c: (c[0] != "right", c[0]))) for op in sorted(counts)}
    if "--update" in sys.argv:
        total = sum(sum(c.values()) for c in counts.values())
        head = (f"# Made by tests/onnx/run.py --update of the tests of onnx {onnx.__version__}: how many cases of each operator are right, and why others\n"
                f"# are refused. In all {sum(c['right'] for c in counts.values())} of {total} are right.\n")
        COUNTS.write_text(head + "".join(f"{op}: {text}\n" for op, text in lines.items()))
    committed = dict(line.split(": ", 1) for line in COUNTS.read_text().splitlines() if not line.startswith("#")) if COUNTS.exists() else {}
    failures = 0
    for op in sorted(set(lines) | set(committed if not asked else ())):
        text, known = lines.get(op, "no case"), committed.get(op, "no case")
        is_wrong = counts[op]["wrong"] or (not asked and text != known)
        failures += bool(is_wrong)
        print(f"FAIL {op}: {text}" + ("" if text == known or asked else f"; counts.txt says {known}") if is_wrong else f"ok {op}: {text}")
        for line in wrong[op]:
            print(f"  {line}")
    print(f"on {', '.join(devices)}: {sum(c['right'] for c in counts.values())} right, {sum(c['wrong'] for c in counts.values())} wrong, "
          f"{sum(sum(c.values()) - c['right'] - c['wrong'] for c in counts.values())} refused")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
