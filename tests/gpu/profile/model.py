#!/usr/bin/env python3
"""Predicts how long works take from their kernels' listings and counts; README.md has the formula.

  model.py MACHINE COUNTS.csv [TIMES.csv [NOW.csv]]

MACHINE: a GPU's name that contains the name of a machine of machines.json with a model. COUNTS: rows of heed_profile with the
columns of loops.py. Prints for each work the predicted microseconds and what binds most of them: busy units of a core, waits of one
workgroup, memory or launches. With TIMES (of times.py, without rows below FULL_CLOCK of the highest MHz) it also prints the ratio,
bold if it is off by more than MOST_MISS, and the prediction for later kernels, NOW, unless those counts are of a driver without the
matrix units of COUNTS."""
import csv
import dataclasses
import json
import math
import pathlib
import sys

from table import line, machine_named

OVERLAP = 0.5  # the share of less busy units' time that overlaps with the busiest unit. Fitted to the H100's rows
SLOW_FETCH = 2  # clocks of an instruction for a whole core, if a loop exceeds its first instruction cache. Also fitted
LINE = 128  # bytes that the banks of shared memory move in a cycle
FULL_CLOCK = 0.95
OF_CAUSAL = 1.9  # the longest workgroup under a causal mask, relative to the mean
MOST_MISS = 0.3  # the largest deviation without a stated reason
# Rows with larger deviations, and what the model lacks for them.
LACKING = {
    "attention f16 12x64 4096 causal": "fetching of a kernel of 162 KB, twice the one without causality",
    "attention f32 12x64 512": "the load groups of NVIDIA's compiler: NVK's listing has 16 where 4 fit the time",
    "token after 512 f16 32x128": "the load groups of NVIDIA's compiler: NVK's listing has 16 where 4 fit the time",
}


@dataclasses.dataclass
class Kernel:
    """A dispatch: the means over its workgroups, in clocks of a core unless stated otherwise."""
    groups: int
    turns: float  # iterations of the hot loop in each invocation
    waits: float  # groups of loads that are waited for one after the other
    matrix: float
    issue: float
    shared: float
    special: float
    barriers: float
    fits: int  # workgroups that share a core
    longest: float = 1.0  # the longest workgroup relative to the mean
    bytes: float = 0.0  # bytes from memory


def multiplies_of(row, of_matrix):
    """Multiplies of one subgroup, and of one iteration, in the listing's instructions. `of_matrix`: multiply-adds of one matrix
    instruction."""
    groups = max(1, int(row["workgroups"]))
    subgroups = max(1.0, int(row["invocations"]) / int(row["subgroup"]))
    lanes = int(row["subgroup"])
    done = int(row["matrix_multiply_adds"]) / of_matrix / groups / subgroups
    if done:
        return done, number(row, "step_products")
    return int(row["multiply_adds"]) / lanes / groups / subgroups, number(row, "step_multiply_adds")


def number(row, column):
    return float(row.get(column) or 0)


def kernel_of(row, machine):
    """The model's quantities for a row of heed_profile. `machine`: its entry with a model."""
    m = machine["model"]
    groups, subgroups = max(1, int(row["workgroups"])), max(1.0, int(row["invocations"]) / int(row["subgroup"]))
    done, of_turn = multiplies_of(row, m["product"])
    turns = done / of_turn if of_turn else 0.0
    requests = int(row["requests"]) / groups / subgroups
    length, step = number(row, "step_length") or number(row, "step_instructions"), number(row, "step_instructions")
    beside = max(0.0, number(row, "instructions") - length) if turns else number(row, "instructions")
    executed = turns * step + min(beside, int(row["issues"]) / groups / subgroups)
    # Vector engines with threads of their own registers take half as long for half as many lanes.
    slots = m["slots"] * (32 / int(row["subgroup"]) if "threads" in m else 1)
    fetch = max(1 / slots, SLOW_FETCH / slots if length > m["fetched"] else 0)
    taken = m["more_registers"] * number(row, "registers") * int(row["invocations"])
    fits = max(1, int(m["registers"] // taken)) if taken else 1
    if "threads" in m:  # each has the same registers, whether it uses them or not
        fits = max(1, int(m["threads"] // subgroups))
    if number(row, "shared"):
        fits = max(1, min(fits, int(65536 // number(row, "shared"))))
    # A load that never waits alone waits together with others: there is at most one wait for each request.
    waits = min(number(row, "load_groups") * turns, requests) if turns else min(2.0, requests)
    return Kernel(groups=groups, turns=turns, waits=waits + 1, matrix=int(row["matrix_multiply_adds"]) / groups / m["matrix"],
                  issue=executed * subgroups * fetch, shared=int(row["shared_turns"]) / groups * LINE / machine["shared"],
                  special=int(row["specials"]) / groups / machine["special"], barriers=int(row["group_barriers"]) / groups, fits=fits,
                  longest=OF_CAUSAL if row["work"].endswith("causal") else 1.0, bytes=float(row["bound_bytes"]))


def together(*times):
    return max(times) + (1 - OVERLAP) * (sum(times) - max(times))


def busy(kernel):
    """Clocks for which a workgroup keeps units of its core busy."""
    return together(kernel.matrix, kernel.issue, kernel.shared, kernel.special)


def wave(kernel, beside, latency, barrier):
    """Clocks of `beside` workgroups that share a core, and which is longer: their total work (busy) or one workgroup's chain
    (waits)."""
    chain = busy(kernel) + barrier * kernel.barriers + kernel.waits * latency
    return max((beside * busy(kernel), "busy"), (chain, "waits"))


def seconds(kernel, machine):
    """Microseconds of a dispatch, and what binds it."""
    m = machine["model"]
    latency = m["far"] if kernel.bytes > m["second_cache"] else m["near"]
    cores, left, clocks, binds = machine["cores"], kernel.groups, 0.0, {}
    while left > 0:
        beside = min(kernel.fits, math.ceil(left / cores))
        rounds = max(1, left // (beside * cores))
        each, what = wave(kernel, beside, latency, m["barrier"])
        last = rounds * beside * cores >= left
        clocks += each * (rounds - 1 + (kernel.longest if last else 1))
        binds[what] = binds.get(what, 0) + rounds * each
        left -= rounds * beside * cores
    memory, cores_take = kernel.bytes / machine["memory"], clocks / machine["clock"]
    parts = {"launch": m["launch"], "memory": memory, max(binds, key=binds.get): cores_take}
    return m["launch"] + together(memory, cores_take), max(parts, key=parts.get)


def foretell(rows, machine):
    """Microseconds of all dispatches of a work, and what binds most of them."""
    total, binds = 0.0, {}
    for row in rows:
        each, what = seconds(kernel_of(row, machine), machine)
        total += int(row["dispatches"]) * each
        binds[what] = binds.get(what, 0) + int(row["dispatches"]) * each
    return 1e6 * total, max(binds, key=binds.get)


def read_works(name):
    works = {}
    with open(name, newline="") as file:
        for row in csv.DictReader(file):
            # Older rows, without the columns of loops.py, lack the last columns.
            if row["engine"] == "heed" and row.get("load_groups") is not None:
                works.setdefault(row["work"], []).append(row)
    return works


def times_at_full_clock(name):
    """Microseconds by work. Rows whose clock fell are left out; rows without a clock come from short runs."""
    with open(name, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["us"]]
    clocks = [float(row["clock"]) for row in rows if row["clock"]]
    return {row["work"]: float(row["us"]) for row in rows if not row["clock"] or float(row["clock"]) >= FULL_CLOCK * max(clocks)}


def on_matrix_units(rows):
    return rows is not None and any(int(row["matrix_multiply_adds"]) for row in rows)


def is_near(us, measured):
    return abs(us / measured - 1) <= MOST_MISS


def main():
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    machines = json.loads((pathlib.Path(__file__).parent / "machines.json").read_text())["machines"]
    machine = machines.get(machine_named(machines, sys.argv[1]), {})
    if "model" not in machine:
        sys.exit(f"model.py: machines.json has no model of '{sys.argv[1]}', but of " +
                 ", ".join(name for name, one in machines.items() if "model" in one))
    works = read_works(sys.argv[2])
    times = times_at_full_clock(sys.argv[3]) if len(sys.argv) > 3 else None
    now = read_works(sys.argv[4]) if len(sys.argv) > 4 else None
    titles = ["work", "foretold, us", "binds"] + (["measured, us", "foretold / measured"] if times else []) + (["now, us"] if now else [])
    line(titles)
    line(["---"] * len(titles))
    for work, rows in works.items():
        if times is not None and work not in times:
            continue
        us, binds = foretell(rows, machine)
        cells = [work, "%.4g" % us, binds]
        if times:
            cells += ["%.4g" % times[work], ("%.2f" if is_near(us, times[work]) else "**%.2f**") % (us / times[work])]
        if now:
            cells.append("%.4g" % foretell(now[work], machine)[0] if on_matrix_units(now.get(work)) == on_matrix_units(rows) else "-")
        line(cells)


if __name__ == "__main__":
    main()
