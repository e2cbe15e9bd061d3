#!/usr/bin/env python3
"""Prints the table of godot_frames.sh from the logs of its rows: a line of milliseconds for each frame, and a last one of "# ..." that
says how many tokens came in how many seconds.

    godot_frames.py BUDGET_MS FOLDER ROW...

Says behind the table what the rows keep of the aims: with heed's budget the 99th percentile is at most 1.25 times the silent one plus
the budget, the worst frame at most twice that percentile, and at least half of the tokens arrive that heed writes alone."""
import os
import sys

NAMES = {
    "silent": "silent", "heed": "heed, budget of {} ms", "unlimited": "heed, no budget", "alone": "heed alone, nothing drawn",
    "llama": "llama.cpp, CPU", "llama-fewer": "llama.cpp, CPU, one thread fewer", "llama-vulkan": "llama.cpp, Vulkan",
}


class Row:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        self.frames = sorted(float(line) for line in lines if line and not line.startswith("#"))
        words = next(line for line in reversed(lines) if line.startswith("#")).split()[1:]
        told = dict(zip(words[::2], words[1::2]))
        self.seconds, self.tokens = float(told["seconds"]), int(told["tokens"])

    def at(self, share):
        """The frame time that so large a share of frames does not exceed."""
        return self.frames[min(len(self.frames) - 1, int(len(self.frames) * share))]

    @property
    def speed(self):
        return self.tokens / self.seconds


def main():
    budget, folder, rows = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
    read = {}
    print("| characters | frames | p50 | p95 | p99 | worst, ms | tokens/s |\n|---|---|---|---|---|---|---|")
    for row in rows:
        path = os.path.join(folder, row + ".txt")
        if not os.path.exists(path):
            print(f"| {NAMES[row].format(sys.argv[1])} | none | | | | | |")
            continue
        it = read[row] = Row(path)
        drawn = row != "alone"
        times = " | ".join(f"{value:.1f}" if drawn else "" for value in (it.at(0.5), it.at(0.95), it.at(0.99), it.frames[-1]))
        print(f"| {NAMES[row].format(sys.argv[1])} | {len(it.frames)} | {times} | {it.speed:.1f} |")
    if "heed" not in read:
        return
    heed = read["heed"]
    aims = [("worst frame", heed.frames[-1], "twice p99", 2 * heed.at(0.99))]
    if "silent" in read:
        aims.insert(0, ("p99", heed.at(0.99), "1.25 times silent plus the budget", 1.25 * read["silent"].at(0.99) + budget))
    for what, value, than, limit in aims:
        print(f"{what} with the budget: {value:.1f} ms; {than}: {limit:.1f} ms: {'kept' if value <= limit else 'missed'}")
    if "alone" in read:
        share = heed.speed / read["alone"].speed if read["alone"].speed else 0
        print(f"tokens with the budget: {100 * share:.0f} % of those alone; at least 50 %: {'kept' if share >= 0.5 else 'missed'}")


if __name__ == "__main__":
    main()
