#!/usr/bin/env python3
"""Writes the table "Ran on" of README.md here, from all reports in this folder.

    table.py                     writes the table
    table.py --check             fails if the table is stale, or a report does not follow schema.json (needs jsonschema)
    table.py --validate FILE     fails if that report does not follow schema.json
"""
import json
import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER / "README.md"
SYSTEM = "/usr/bin/python3"
BEGIN, END = "<!-- table.py writes this -->\n", "<!-- to here -->\n"
WORKS = {"f32 512x3072x768": "linear-512x3072x768", "f16 1024x2048x1024": "linear-1024x2048x1024-f16",
         "encoder, ms": "1x128x768-12-layers", "token, ms": "1-after-500-q4_1"}


def reports():
    return [(path.stem, json.loads(path.read_text())) for path in sorted(FOLDER.glob("*.json")) if path.name != "schema.json"]


def state(report, part):
    return report["parts"].get(part, {}).get("state", "")


def cell(report, work):
    for row in report["parts"].get("times", {}).get("rows", []):
        if row["shape"] == WORKS[work] and "ms" in row:
            return f"{row['ms']:.1f}" if work.endswith("ms") else f"{row['rate']:,.0f}"
    return ""


def row(name, report):
    device, frames = report["device"], report["parts"].get("frames", {}).get("rows", [])
    p99 = [f"{one['clock_ms']['p99']:.1f}" for one in frames[:2]]
    return [f"[{device['name']}]({name}.json)", device["driver"] or "none", *(state(report, part) for part in ("goldens", "bits", "self-test")),
            *(cell(report, work) for work in WORKS), " → ".join(p99)]


def table():
    head = ["device", "driver", "goldens", "bits", "self-test", *WORKS, "frame, ms"]
    lines = [head, ["---"] * len(head), *(row(name, report) for name, report in reports())]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def validate(name, report):
    try:
        import jsonschema
    except ImportError:  # another Python than the system's, for which tests/drivers/install.sh installs it
        if os.path.realpath(sys.executable) == os.path.realpath(SYSTEM) or not os.path.exists(SYSTEM):
            raise
        os.execv(SYSTEM, [SYSTEM, *sys.argv])
    jsonschema.validate(report, json.loads((FOLDER / "schema.json").read_text()))
    print(f"ok report {name}")


def main():
    if sys.argv[1:2] == ["--validate"]:
        validate(sys.argv[2], json.loads(pathlib.Path(sys.argv[2]).read_text()))
        return 0
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    wanted = before + BEGIN + table() + END + rest.split(END)[1]
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(wanted)
        return 0
    for name, report in reports():
        validate(name, report)
    if wanted != text:
        print("FAIL table: run tests/gpu/reports/table.py")
        return 1
    print("ok table")
    return 0


if __name__ == "__main__":
    sys.exit(main())
