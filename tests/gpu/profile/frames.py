#!/usr/bin/env python3
"""Tells how record_some spreads works over a host's frames, and what the dearest frame costs.

  frames.py MACHINE COUNTS.csv MILLISECONDS WORK...    MILLISECONDS: the budget of a frame; WORK: a name, or the beginning of some

model.py foretells each dispatch. heed fills a frame by the times that it has measured, here those that are foretold, or, before it has any,
by its estimate for a slow device. Tables of counts do not have the order of dispatches, so that figures are the most of any order."""
import json
import math
import pathlib
import sys

import model
from table import line, machine_named

# engine/vulkan/recording/pass_times.cpp: microseconds of an empty dispatch, and operations or bytes a microsecond on a discrete GPU.
EMPTY, SLOW_RATE = 5.0, 1e6


def dispatches_of(rows, machine):
    """(foretold, estimated) microseconds of each dispatch."""
    result = []
    for row in rows:
        foretold = 1e6 * model.seconds(model.kernel_of(row, machine), machine)[0]
        operations = 2 * (int(row["multiply_adds"]) + int(row["matrix_multiply_adds"]))
        result += int(row["dispatches"]) * [(foretold, EMPTY + max(operations, float(row["bound_bytes"])) / SLOW_RATE)]
    return result


def most_frames(times, budget):
    """The most frames: each is filled up to the budget, or has one dispatch that exceeds it."""
    alone = sum(time > budget for time in times)
    others = [time for time in times if time <= budget]
    if sum(others) <= budget and not alone:
        return 1
    # A frame ends where the next dispatch has no room, so that two frames in a row hold more than the budget.
    # The frame before a dispatch alone may end early, too.
    filled = math.ceil(2 * sum(others) / budget)
    if others and max(others) < budget:
        filled = min(filled, math.floor(sum(others) / (budget - max(others))))
    return 2 * alone + filled + 1


def dearest_frame(dispatches, budget):
    """The most foretold microseconds of dispatches whose estimates fit the budget, parts of a dispatch allowed, or of one alone."""
    left, cost = budget, 0.0
    for foretold, estimated in sorted(dispatches, key=lambda pair: pair[1] / pair[0]):
        share = min(1.0, left / estimated)
        cost, left = cost + share * foretold, left - share * estimated
    return max([cost] + [foretold for foretold, _ in dispatches])


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    machines = json.loads((pathlib.Path(__file__).parent / "machines.json").read_text())["machines"]
    machine, budget = machines[machine_named(machines, sys.argv[1])], 1e3 * float(sys.argv[3])
    line(["work", "all, us", "dispatches", "longest, us", "frames", "dearest, us", "frames, not measured", "dearest, us"])
    line(["---"] * 8)
    for work, rows in model.read_works(sys.argv[2]).items():
        if not work.startswith(tuple(sys.argv[4:])):
            continue
        both = dispatches_of(rows, machine)
        known = [(foretold, foretold) for foretold, _ in both]
        cells = [work, "%.4g" % sum(foretold for foretold, _ in both), "%d" % len(both), "%.3g" % max(foretold for foretold, _ in both)]
        for pairs in (known, both):
            cells += ["%d" % most_frames([estimated for _, estimated in pairs], budget), "%.4g" % dearest_frame(pairs, budget)]
        line(cells)


if __name__ == "__main__":
    main()
