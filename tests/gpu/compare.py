#!/usr/bin/env python3
"""Prints heed's and PyTorch's times of one run side by side, and writes them as JSON.

  compare.py FOLDER RESULT.json     FOLDER has heed.tsv, torch.tsv, heed.device, torch.device and commit"""
import datetime
import json
import pathlib
import sys


def read_rows(path):
    rows = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        row, milliseconds, note = (line.split("\t") + ["", ""])[:3]
        rows[row] = {"ms": None if milliseconds == "-" else float(milliseconds), "note": note}
    return rows


def work(row):
    """Floating-point operations and bytes of a row, each operand counted once; (0, 0) for the encoder."""
    operation, kind, sizes, *flag = row.split(":")
    size = {"f32": 4, "f16": 2, "bf16": 2}[kind]
    sizes = [int(n) for n in sizes.split("x")]
    if operation == "matmul":
        m, n, k = sizes
        return 2 * m * n * k, size * (m * k + n * k + m * n)
    if operation == "attention":
        heads, tokens, width = sizes
        return 4 * heads * tokens * tokens * width // (2 if flag else 1), size * 4 * heads * tokens * width
    if operation == "encoder":
        return 0, 0
    return 0, size * sizes[0] * sizes[1] * (3 if operation == "add" else 2)


def main():
    folder, result = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    ours, theirs = read_rows(folder / "heed.tsv"), read_rows(folder / "torch.tsv")
    if not ours:
        sys.exit("FAIL heed timed nothing")
    rows = []
    heads = ("row", "heed, ms", "torch, ms", "ratio", "TFLOP/s", "GB/s", "kernels")
    print("%-36s %10s %10s %8s %9s %9s  %s" % heads)
    for row, mine in ours.items():
        other = theirs.get(row, {}).get("ms")
        flops, moved = work(row)
        milliseconds = mine["ms"]
        entry = {"row": row, "heed_ms": milliseconds, "torch_ms": other,
                 "note": mine["note"]}
        if milliseconds:
            entry["ratio"] = other / milliseconds if other else None
            entry["tflops"], entry["gigabytes"] = flops / milliseconds / 1e9, moved / milliseconds / 1e6
        rows.append(entry)
        texts = ["-" if entry.get(key) is None else form % entry[key]
                 for key, form in (("heed_ms", "%.3f"), ("torch_ms", "%.3f"), ("ratio", "%.2f"), ("tflops", "%.1f"),
                                   ("gigabytes", "%.0f"))]
        print("%-36s %10s %10s %8s %9s %9s  %s" % (row, *texts, mine["note"]))

    def text(name):
        return (folder / name).read_text().strip() if (folder / name).exists() else ""

    result.write_text(json.dumps({"date": datetime.date.today().isoformat(), "commit": text("commit"),
                                  "heed_device": text("heed.device"), "torch": text("torch.device"),
                                  "rows": rows}, indent=1) + "\n")
    print("wrote", result)


if __name__ == "__main__":
    main()
