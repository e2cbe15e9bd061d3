#!/usr/bin/env python3
"""Prints what heed_profile counted as tables: one for each maker, and the least time on the machines of machines.json.

  table.py CSV...

Columns are told in README.md. Where a work has rows of two engines, ratios are heed's figure by the other's."""
import csv
import json
import pathlib
import sys

COUNTS = ("workgroups multiply_adds floats specials integers exchanges matrix_multiply_adds matrix_operations issues lanes "
          "group_barriers indexed requests bytes shared_requests shared_bytes shared_turns fewest_turns segments_32 segments_64 "
          "segments_128 touched_32 touched_64 touched_128").split()
# A product of matrix units takes as many issue slots of one core as so many multiply-adds: it has 4,096 of them, at 128 a clock.
MATRIX_SLOTS = 32


class Work:
    """The rows of one work, engine and target, summed over its dispatches."""

    def __init__(self, rows):
        self.rows = rows
        first = rows[0]
        self.barriers = int(first["barriers"])
        self.dispatches = sum(int(row["dispatches"]) for row in rows)
        self.lacking = [row["lacking"] for row in rows if row["lacking"]]
        self.sum = {name: sum(int(row[name]) * int(row["dispatches"]) for row in rows) for name in COUNTS}
        # The kernel in which most is multiplied stands for the work where no sum makes sense.
        self.main = max(rows, key=lambda row: (int(row["multiply_adds"]) + int(row["matrix_multiply_adds"]) + int(row["bytes"]))
                        * int(row["dispatches"]))

    def moved(self, row, segment):
        """Bytes of one dispatch that reach the cores from the second cache, and at least cross memory."""
        cache = int(row["touched_%d" % segment]) * segment
        return cache, min(cache, float(row["bound_bytes"]))

    def all_moved(self, segment):
        return [sum(self.moved(row, segment)[i] * int(row["dispatches"]) for row in self.rows) for i in (0, 1)]

    def times(self, machine, launch):
        """Least seconds of each unit of a machine."""
        rate = machine["cores"] * machine["clock"]
        cache, memory = self.all_moved(machine["segment"])
        s = self.sum
        units = {"arithmetic": (s["multiply_adds"] + s["floats"] + s["exchanges"], rate * machine["fma"]),
                 "special": (s["specials"], machine["special"] and rate * machine["special"]),
                 "matrix": (s["matrix_multiply_adds"], machine["matrix"] and rate * machine["matrix"]),
                 # A turn of the banks moves as much as they have, wanted or not.
                 "shared": (s["shared_turns"] * 128, machine["shared"] and rate * machine["shared"]),
                 # A core's first cache looks up one line of 128 bytes at a time.
                 "lines": (s["segments_128"], rate),
                 "cache": (cache, machine["cache"] and rate * machine["cache"]),
                 "memory": (memory, machine["memory"]),
                 "launches": (self.dispatches * launch, 1)}
        return {name: amount / speed for name, (amount, speed) in units.items() if speed}


def percent(part, whole):
    return "-" if not whole else "%.0f %%" % (100.0 * part / whole)


def figures(work, segment, least_bytes):
    """The columns of a maker's table. `least_bytes`: of the work, where it is known."""
    s, main = work.sum, work.main
    multiplied = s["multiply_adds"] + s["matrix_multiply_adds"]
    cache, _ = work.all_moved(segment)
    per = (lambda amount: "-" if not multiplied else "%.3g" % (amount / multiplied))
    lanes = sum(int(row["issues"]) * int(row["subgroup"]) * int(row["dispatches"]) for row in work.rows)
    slots = int(main["loop_instructions"]) + (MATRIX_SLOTS - 1) * int(main["loop_matrix"])
    in_loop = int(main["loop_multiply_adds"]) + MATRIX_SLOTS * int(main["loop_matrix"])
    return ["%d / %d" % (work.dispatches, work.barriers), main["registers"],
            "%d" % sum(int(row["spills"]) > 0 or int(row["scratch"]) > 0 for row in work.rows), main["shared"], main["occupancy"],
            per(cache), per(least_bytes) if least_bytes else "-", per(s["shared_bytes"]),
            percent(s["shared_turns"] - s["fewest_turns"], s["shared_turns"]), percent(s["bytes"], s["segments_%d" % segment] * segment),
            percent(s["lanes"], lanes), "%.3g" % (s["group_barriers"] / max(1, s["workgroups"])), percent(in_loop, slots)]


TITLES = ["dispatches / barriers", "registers", "kernels that spill", "shared, bytes", "occupancy", "bytes a multiply-add", "least",
          "shared bytes a multiply-add", "conflicts", "wanted of segments", "lanes at work", "barriers a group", "inner loop multiplies"]


def line(cells):
    print("| " + " | ".join(cells) + " |")


def main():
    data = json.loads((pathlib.Path(__file__).parent / "machines.json").read_text())
    works = {}
    for name in sys.argv[1:]:
        with open(name, newline="") as file:
            for row in csv.DictReader(file):
                works.setdefault(row["target"], {}).setdefault(row["work"], {}).setdefault(row["engine"], []).append(row)
    for target, of_target in works.items():
        machines = {name: m for name, m in data["machines"].items() if m["target"] == target}
        segment = next(iter(machines.values()))["segment"]
        print("\n### %s: counts\n" % target)
        line(["work", ""] + TITLES)
        line(["---"] * (len(TITLES) + 2))
        for name, engines in of_target.items():
            for engine, rows in engines.items():
                work = Work(rows)
                cells = figures(work, segment, float(engines["heed"][0]["work_bytes"]) if "heed" in engines else 0)
                if work.lacking:
                    cells = cells[:5] + ["not interpreted: " + work.lacking[0]] + ["-"] * (len(cells) - 6)
                line([name, engine] + cells)
        print("\n### %s: least milliseconds, and what they are\n" % target)
        line(["work"] + [cell for name in machines for cell in (name + ", heed", "ggml", "heed / ggml")])
        line(["---"] * (1 + 3 * len(machines)))
        for name, engines in of_target.items():
            cells = [name]
            for machine in machines.values():
                found = []
                for engine in ("heed", "ggml"):
                    work = Work(engines[engine]) if engine in engines else None
                    needs_matrix = work is not None and work.sum["matrix_multiply_adds"] and not machine["matrix"]
                    if work is None or work.lacking or needs_matrix:
                        found.append(None)
                        cells.append("-")
                        continue
                    unit, seconds = max(work.times(machine, data["launch"]).items(), key=lambda pair: pair[1])
                    found.append(seconds)
                    cells.append("%.3g %s" % (1e3 * seconds, unit))
                cells.append("%.2f" % (found[0] / found[1]) if all(found) else "-")
            line(cells)


if __name__ == "__main__":
    main()
