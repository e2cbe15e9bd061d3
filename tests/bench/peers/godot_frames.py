#!/usr/bin/env python3
"""Prints the table of godot_frames.sh from the logs of its rows, FOLDER/ROW.ROUND.txt. A log has the milliseconds of each frame, a
line each, and a last line "# ..." with the number of tokens and seconds.

    godot_frames.py [--form text|markdown] [--command COMMAND] [--setting TEXT] BUDGET_MS FOLDER ROW...

Prints "ok" or "missed" for each aim after the table. With heed's budget, on the CPU and on the GPU: the 99th percentile is at most
1.25 times the silent one plus the budget; the worst frame is at most twice that percentile; and at least half of the tokens without
a budget arrive. On the CPU these are counted with nothing drawn; on the GPU with frames drawn, since there is no GPU otherwise."""
import argparse
import glob
import os

NAMES = {
    "silent": "silent", "heed": "heed on the CPU, budget of {} ms", "unlimited": "heed on the CPU, no budget",
    "alone": "heed on the CPU, nothing drawn", "heed-gpu": "heed on Godot's GPU, budget of {} ms",
    "unlimited-gpu": "heed on Godot's GPU, no budget", "llama": "llama.cpp, CPU", "llama-fewer": "llama.cpp, CPU, one thread fewer",
    "llama-vulkan": "llama.cpp, Vulkan",
}
# The rows with a budget, and the rows without one that their tokens are compared with.
LIMITED = {"heed": "alone", "heed-gpu": "unlimited-gpu"}


class Row:
    def __init__(self, paths):
        self.frames, self.seconds, self.tokens = [], 0, 0
        for path in paths:
            with open(path, encoding="utf-8") as file:
                lines = file.read().split("\n")
            self.frames += [float(line) for line in lines if line and not line.startswith("#")]
            words = next(line for line in reversed(lines) if line.startswith("#")).split()[1:]
            told = dict(zip(words[::2], words[1::2]))
            self.seconds += float(told["seconds"])
            self.tokens += int(told["tokens"])
        self.frames.sort()

    def at(self, share):
        """The frame time that this share of frames does not exceed."""
        return self.frames[min(len(self.frames) - 1, int(len(self.frames) * share))]

    @property
    def speed(self):
        return self.tokens / self.seconds


def table(budget, rows, read):
    yield "| characters | frames | p50 | p95 | p99 | worst, ms | tokens/s |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        name = NAMES[row].format(budget)
        if row not in read:
            yield f"| {name} | none | | | | | |"
            continue
        it = read[row]
        times = [""] * 4 if row == "alone" else [f"{value:.1f}" for value in (it.at(0.5), it.at(0.95), it.at(0.99), it.frames[-1])]
        yield f"| {name} | {len(it.frames)} | {' | '.join(times)} | {it.speed:.1f} |"


def aims(budget, read):
    for row, free in LIMITED.items():
        if row not in read:
            continue
        it, name = read[row], NAMES[row].format(budget)
        checks = [(f"worst frame {it.frames[-1]:.1f} ms, at most 2 x p99 = {2 * it.at(0.99):.1f} ms", it.frames[-1] <= 2 * it.at(0.99))]
        if "silent" in read:
            limit = 1.25 * read["silent"].at(0.99) + float(budget)
            checks.insert(0, (f"p99 {it.at(0.99):.1f} ms, at most 1.25 x silent + budget = {limit:.1f} ms", it.at(0.99) <= limit))
        if free in read and read[free].speed > 0:
            share = it.speed / read[free].speed
            checks.append((f"{it.speed:.1f} tokens/s, {100 * share:.0f} % of {read[free].speed:.1f} ({NAMES[free]}), at least 50 %", share >= 0.5))
        for text, is_met in checks:
            yield f"{'ok' if is_met else 'missed'}: {name}: {text}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--form", choices=("text", "markdown"), default="text")
    parser.add_argument("--command", default="")
    parser.add_argument("--setting", default="")
    parser.add_argument("budget")
    parser.add_argument("folder")
    parser.add_argument("rows", nargs="+", choices=NAMES)
    given = parser.parse_args()
    logs = {row: glob.glob(os.path.join(given.folder, row + ".[0-9]*.txt")) for row in given.rows}
    read = {row: Row(paths) for row, paths in logs.items() if paths}
    lines = list(table(given.budget, given.rows, read))
    if given.form == "markdown":
        print(f"`{given.command}`: {given.setting}.\n")
        print("\n".join(lines) + "\n")
        print("\n".join(f"- {line}" for line in aims(given.budget, read)))
    else:
        print(given.setting)
        print("\n".join(lines + list(aims(given.budget, read))))


if __name__ == "__main__":
    main()
