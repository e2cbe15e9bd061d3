#!/usr/bin/env python3
"""Prints times measured on a GPU beside the least time by its published figures and the counts of its target.

  measured.py DEVICE CSV...     DEVICE: a name that contains the name of a machine of machines.json; CSV: output of times.py

Times are the GPU's least and median, in microseconds like the bound. README.md defines the bound."""
import csv
import json
import pathlib
import sys

from table import Work, line, machine_named


def bounds_of(device):
    """The machine's name, and for each work the least microseconds and the unit that binds; empty for an unknown machine."""
    here = pathlib.Path(__file__).parent
    data = json.loads((here / "machines.json").read_text())
    name = machine_named(data["machines"], device)
    if name is None:
        return None, {}
    machine, rows = data["machines"][name], {}
    with open(here / (machine["target"] + ".csv"), newline="") as file:
        for row in csv.DictReader(file):
            if row["engine"] == "heed":
                rows.setdefault(row["work"], []).append(row)
    bounds = {}
    for work, of_work in rows.items():
        unit, seconds = max(Work(of_work).times(machine, data["launch"]).items(), key=lambda pair: pair[1])
        bounds[work] = 1e6 * seconds, unit
    return name, bounds


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    times = {}
    for name in sys.argv[2:]:
        if not pathlib.Path(name).is_file():
            sys.exit(f"measured.py: there is no file {name}")
        with open(name, newline="") as file:
            for row in csv.DictReader(file):
                told = {column: row[column] for column in ("us", "least", "wall", "clock") if row[column]}
                of_work = times.setdefault(row["work"], {})
                if "us" not in told:  # without a GPU time, the host's time is used
                    told = {"wall": told["wall"]}
                of_work[row["engine"]] = {**of_work.get(row["engine"], {}), **told}
    machine, bounds = bounds_of(sys.argv[1])
    line(["work", "heed, us", "least", "MHz", "ggml, us", "least", "MHz", "heed / ggml", "bound" + (" on " + machine if machine else ""),
          "heed / bound", "heed by the host's clock", "ggml", "heed / ggml"])
    line(["---"] * 13)
    for work, engines in times.items():
        heed, ggml = engines.get("heed", {}), engines.get("ggml", {})

        def ratio(column):
            return "%.2f" % (float(heed[column]) / float(ggml[column])) if column in heed and column in ggml else "-"

        def number(value):
            return "%.0f" % value if value >= 1000 else "%.4g" % value

        def cells(of, *columns):
            return [number(float(of[column])) if column in of else "-" for column in columns]

        bound, unit = bounds.get(work, (None, ""))
        line([work, *cells(heed, "us", "least", "clock"), *cells(ggml, "us", "least", "clock"), ratio("us"),
              "%s %s" % (number(bound), unit) if bound else "-",
              "%.2f" % (float(heed["us"]) / bound) if bound and "us" in heed else "-",
              *cells(heed, "wall"), *cells(ggml, "wall"), ratio("wall")])


if __name__ == "__main__":
    main()
