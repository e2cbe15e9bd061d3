#!/usr/bin/env python3
"""Prints the counts of heed_profile as tables, one for each maker, and the least time on the machines of machines.json.

  table.py [--aims] CSV...     --aims: only heed's figures divided by ggml's

README.md defines columns and aims."""
import csv
import json
import pathlib
import sys

COUNTS = ("workgroups multiply_adds byte_dots floats specials integers exchanges matrix_multiply_adds byte_matrix_multiply_adds matrix_operations issues lanes "
          "group_barriers indexed requests bytes shared_requests shared_bytes shared_turns fewest_turns segments_32 segments_64 "
          "segments_128 touched_32 touched_64 touched_128").split()
# A matrix instruction occupies the issue slots of as many multiply-adds: it has 4,096 multiply-adds, of which a core does 128 a clock.
MATRIX_SLOTS = 32
BYTE_SLOTS = 16  # the same for bytes: NVIDIA's has 4,096 at 256 a clock


class Work:
    """The rows of one work, engine and target, summed over its dispatches."""

    def __init__(self, rows):
        self.rows = rows
        first = rows[0]
        self.barriers = int(first["barriers"])
        self.dispatches = sum(int(row["dispatches"]) for row in rows)
        self.lacking = [row["lacking"] for row in rows if row["lacking"]]
        self.sum = {name: sum(int(row.get(name) or 0) * int(row["dispatches"]) for row in rows) for name in COUNTS}
        # Where a sum over kernels makes no sense, the kernel with the most multiplies stands for the work.
        self.main = max(rows, key=lambda row: (int(row["multiply_adds"]) + int(row["matrix_multiply_adds"]) + int(row["bytes"]))
                        * int(row["dispatches"]))

    def moved(self, row, segment):
        """Bytes of one dispatch that reach the cores from the second-level cache, and the least that must cross memory."""
        cache = int(row["touched_%d" % segment]) * segment
        return cache, min(cache, float(row["bound_bytes"]))

    def all_moved(self, segment):
        return [sum(self.moved(row, segment)[i] * int(row["dispatches"]) for row in self.rows) for i in (0, 1)]

    @staticmethod
    def saved(machine):
        """The time of a multiply-add of bytes relative to one of f16."""
        return 1 - machine["matrix"] / machine["bytes"] if machine.get("bytes") else 0

    def times(self, machine, launch):
        """Least seconds of each unit of a machine."""
        rate = machine["cores"] * machine["clock"]
        cache, memory = self.all_moved(machine["segment"])
        s = self.sum
        units = {"arithmetic": (s["multiply_adds"] - 3 * s["byte_dots"] + s["floats"] + s["exchanges"], rate * machine["fma"]),
                 "special": (s["specials"], machine["special"] and rate * machine["special"]),
                 "matrix": (s["matrix_multiply_adds"] - s["byte_matrix_multiply_adds"] * self.saved(machine),
                            machine["matrix"] and rate * machine["matrix"]),
                 # An access of the banks moves their full width, whether all of it is used or not.
                 "shared": (s["shared_turns"] * 128, machine["shared"] and rate * machine["shared"]),
                 # A core's first-level cache looks up one line of 128 bytes at a time.
                 "lines": (s["segments_128"], rate),
                 "cache": (cache, machine["cache"] and rate * machine["cache"]),
                 "memory": (memory, machine["memory"]),
                 "launches": (self.dispatches * launch, 1)}
        return {name: amount / speed for name, (amount, speed) in units.items() if speed}


def percent(part, whole):
    return "-" if not whole else "%.0f %%" % (100.0 * part / whole)


def figures(work, segment, least_bytes):
    """The columns of a maker's table. `least_bytes`: of the work, if it is known."""
    s, main = work.sum, work.main
    multiplied = s["multiply_adds"] + s["matrix_multiply_adds"]
    cache, _ = work.all_moved(segment)
    per = (lambda amount: "-" if not multiplied else "%.3g" % (amount / multiplied))
    lanes = sum(int(row["issues"]) * int(row["subgroup"]) * int(row["dispatches"]) for row in work.rows)
    loop = share_of_loop(work)
    return ["%d / %d" % (work.dispatches, work.barriers), main["registers"],
            "%d" % sum(int(row["spills"]) > 0 or int(row["scratch"]) > 0 for row in work.rows), main["shared"], main["occupancy"],
            main["cycles"],
            per(cache), per(least_bytes) if least_bytes else "-", per(s["shared_bytes"]),
            percent(s["shared_turns"] - s["fewest_turns"], s["shared_turns"]), percent(s["bytes"], s["segments_%d" % segment] * segment),
            percent(s["lanes"], lanes), "%.3g" % (s["group_barriers"] / max(1, s["workgroups"])),
            "%.0f %%" % (100 * loop) if loop else "-"]


TITLES = ["dispatches / barriers", "registers", "kernels that spill", "shared, bytes", "occupancy", "cycles", "bytes a multiply-add", "least",
          "shared bytes a multiply-add", "conflicts", "wanted of segments", "lanes at work", "barriers a group", "inner loop multiplies"]


def share_of_loop(work):
    """The share of issue slots that multiply, in the inner loop of the main kernel; 0: not known."""
    main = work.main
    each = BYTE_SLOTS if int(main.get("byte_matrix_multiply_adds") or 0) else MATRIX_SLOTS
    slots = int(main["loop_instructions"]) + (each - 1) * int(main["loop_matrix"])
    return (int(main["loop_multiply_adds"]) + each * int(main["loop_matrix"])) / slots if slots else 0


AIMS = ["bytes", "shared bytes", "conflicts", "inner loop multiplies", "bound", "dispatches", "barriers", "subgroups"]


def aims(heed, ggml, machine, launch):
    """heed's figure divided by ggml's for each of AIMS, and heed's own for conflicts. Bold if the aim is missed, - if there is
    none."""
    name = heed.rows[0]["work"]
    segment = machine["segment"]

    def cell(value, good, text="%.2f"):
        return (text if good else "**" + text + "**") % value

    def ratio(a, b, good):
        return cell(a / b, good(a / b)) if a and b else "-"

    turns = heed.sum["shared_turns"]
    conflicts = 100.0 * (turns - heed.sum["fewest_turns"]) / turns if turns else None
    loops = share_of_loop(heed), share_of_loop(ggml)
    # For f32 tiles heed's own share counts, since the peer multiplies on matrix units after rounding to f16.
    tiles = name.startswith("product f32") and heed.main["kernel"] == "matmul_f32"
    whole = name.startswith(("smollm2", "encoder"))
    needs_matrix = any(w.sum["matrix_multiply_adds"] and not machine["matrix"] for w in (heed, ggml))
    bounds = [max(w.times(machine, launch).values()) for w in (heed, ggml)]
    on_matrix = int(heed.main["matrix_operations"]) > 0
    return [ratio(heed.all_moved(segment)[0], ggml.all_moved(segment)[0], lambda x: x <= 0.9),
            ratio(heed.sum["shared_bytes"], ggml.sum["shared_bytes"], lambda x: x <= 0.9),
            "-" if conflicts is None else cell(conflicts, conflicts <= 2, "%.0f %%"),
            cell(100 * loops[0], loops[0] >= 0.85, "%.0f %%") if tiles else ratio(*loops, lambda x: x >= 1.1),
            "-" if needs_matrix else ratio(*bounds, lambda x: x <= 0.85),
            ratio(heed.dispatches, ggml.dispatches, lambda x: x <= 0.5) if whole else "-",
            ratio(heed.barriers, ggml.barriers, lambda x: x <= 0.5) if whole else "-",
            ratio(float(heed.main["occupancy"]), float(ggml.main["occupancy"]), lambda x: x >= 1) if on_matrix else "-"]


def machine_named(machines, device):
    """The name of the machine whose words all occur in a device's name; None if there is none."""
    return next((name for name in machines if all(word in device.lower() for word in name.lower().split())), None)


def line(cells):
    print("| " + " | ".join(cells) + " |")


def print_counts(target, works, segment):
    print("\n### %s: counts\n" % target)
    line(["work", ""] + TITLES)
    line(["---"] * (len(TITLES) + 2))
    for name, engines in works.items():
        for engine, rows in engines.items():
            work = Work(rows)
            cells = figures(work, segment, float(engines["heed"][0]["work_bytes"]) if "heed" in engines else 0)
            if work.lacking:
                cells = cells[:6] + ["not interpreted: " + work.lacking[0]] + ["-"] * (len(cells) - 7)
            line([name, engine] + cells)


def print_aims(target, works, name, machine, launch):
    found = {work: aims(Work(engines["heed"]), Work(engines["ggml"]), machine, launch) for work, engines in works.items()
             if len(engines) == 2 and not any(row["lacking"] for rows in engines.values() for row in rows)}
    if not found:
        return
    print("\n### %s: heed's figures divided by ggml's; the bound is that of %s\n" % (target, name))
    line(["work"] + AIMS)
    line(["---"] * (1 + len(AIMS)))
    for work, cells in found.items():
        line([work] + cells)
    columns = [[cell for cell in column if cell != "-"] for column in zip(*found.values())]
    line(["met"] + ["%d of %d" % (sum(not cell.startswith("**") for cell in column), len(column)) for column in columns])


def print_bounds(target, works, machines, launch):
    print("\n### %s: least milliseconds, and what they are\n" % target)
    line(["work"] + [cell for name in machines for cell in (name + ", heed", "ggml", "heed / ggml")])
    line(["---"] * (1 + 3 * len(machines)))
    for name, engines in works.items():
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
                unit, seconds = max(work.times(machine, launch).items(), key=lambda pair: pair[1])
                found.append(seconds)
                cells.append("%.3g %s" % (1e3 * seconds, unit))
            cells.append("%.2f" % (found[0] / found[1]) if all(found) else "-")
        line(cells)


def main():
    only_aims = "--aims" in sys.argv[1:]
    data = json.loads((pathlib.Path(__file__).parent / "machines.json").read_text())
    works = {}
    for name in [word for word in sys.argv[1:] if word != "--aims"]:
        with open(name, newline="") as file:
            for row in csv.DictReader(file):
                works.setdefault(row["target"], {}).setdefault(row["work"], {}).setdefault(row["engine"], []).append(row)
    for target, of_target in works.items():
        machines = {name: m for name, m in data["machines"].items() if m["target"] == target}
        name, machine = next(iter(machines.items()))
        if not only_aims:
            print_counts(target, of_target, machine["segment"])
        print_aims(target, of_target, name, machine, data["launch"])
        if not only_aims:
            print_bounds(target, of_target, machines, data["launch"])


if __name__ == "__main__":
    main()
