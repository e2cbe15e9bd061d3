#!/usr/bin/env python3
"""Summarizes the rows of heed_sweep.

  sweep.py CSV

Prints for each work its usual time and the variant that is clearly faster, if there is one; from the stairs how many workgroups
share a core; from the depths the time of an iteration of 32 k and the constant part; from the lines what loads beyond the
first-level cache cost; and the time of a launch."""
import csv
import re
import sys

CLEARLY = 0.95  # share of the usual time, as in heed tune
STEP = 32  # of k


def faster_variants(rows):
    """(work, its usual us, the fastest variant or None, that variant's us)"""
    usual = {row["work"]: float(row["us"]) for row in rows if row["part"] == "usual"}
    found = []
    for work, us in usual.items():
        variants = [(float(row["us"]), row["variant"]) for row in rows if row["part"] == "variant" and row["work"] == work]
        best = min(variants, default=(us, None))
        found.append((work, us, best[1] if best[0] <= CLEARLY * us else None, min(best[0], us)))
    return found


def share_of_stairs(times):
    """How many workgroups share a core, from times of growing numbers of equal workgroups; the first number is half of the cores.
    While all run side by side, more workgroups take less time than another wave would."""
    first, shared = times[0], 0
    for at, us in enumerate(times):
        if us > 1.6 * first:
            break
        shared = (at + 1) / 2
    return max(1, int(shared))


def slope(points):
    """Slope and constant of us as a function of k, by least squares."""
    n, mean_x, mean_y = len(points), sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    each = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if n > 1 and spread else 0.0
    return each, mean_y - each * mean_x


def series(rows, part):
    """Rows of a part, grouped by the common prefix of their names, in their order."""
    found = {}
    for row in rows:
        if row["part"] == part:
            found.setdefault(re.sub(r" \d+ (workgroups|heads)$| k \d+$| of (one row|rows)$", "", row["work"]), []).append(row)
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], newline="") as file:
        rows = list(csv.DictReader(file))
    for work, us, variant, best in faster_variants(rows):
        print(f"{work}: {us:.4g} us" + (f", {best:.4g} by {variant}" if variant else ""))
    for name, of_name in series(rows, "stairs").items():
        times = [float(row["us"]) for row in of_name]
        print(f"{name}: {share_of_stairs(times)} share a core; us of each step: " + " ".join(f"{us:.4g}" for us in times))
    for name, of_name in series(rows, "depth").items():
        each, rest = slope([(int(row["work"].split()[-1]), float(row["us"])) for row in of_name])
        print(f"{name}: {STEP * each:.4g} us for {STEP} of k, {rest:.4g} us beside")
    for name, of_name in series(rows, "lines").items():
        times = {row["work"].rpartition(" of ")[2]: float(row["us"]) for row in of_name}
        if len(times) == 2:
            print(f"{name}: {times['rows']:.4g} us, {times['one row']:.4g} where all loads hit the first cache")
    for row in rows:
        if row["part"] == "launch":
            print(f"a launch: {float(row['us']):.3g} us")


if __name__ == "__main__":
    main()
