#!/usr/bin/env python3
"""Runs heed_times or ggml_work, and writes their times as CSV with the GPU's core clock beside each.

  times.py OUT.csv SECONDS COMMAND...     SECONDS: how long COMMAND measures each work

Columns are those of heed_times (microseconds) and clock: the median MHz of the first GPU during the work by nvidia-smi, empty
without nvidia-smi. For ggml, us, least and most are empty without GGML_VK_PERF_LOGGER=1, and wall is empty with it. OUT.csv.log has
all output of COMMAND. The exit code is that of COMMAND."""
import re
import statistics
import subprocess
import sys
import threading
import time

COLUMNS = "engine,work,us,least,most,wall,passes,kernels,clock"


class Clock:
    """Samples the clock until it is stopped."""

    def __init__(self):
        self.samples = []
        self.process = None
        try:
            self.process = subprocess.Popen(
                ["nvidia-smi", "--id=0", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits", "-lms", "50"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError:
            return
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            if line.strip().isdigit():
                self.samples.append((time.monotonic(), int(line)))

    def of_the_last(self, seconds):
        since = time.monotonic() - seconds
        found = [clock for at, clock in self.samples if at >= since]
        return "%.0f" % statistics.median(found) if found else ""

    def end(self):
        if self.process:
            self.process.terminate()
            self.process.wait()


def row_of_ggml(line, totals):
    """`totals`: the GPU's microseconds of each run so far."""
    work, wall, _, _, runs, copies = re.fullmatch(r"wall,(.*),([\d.]+),([\d.]+),([\d.]+),(\d+),(\d+)", line).groups()
    if not totals:
        return "ggml,%s,,,,%s,," % (work, wall)
    each = sorted(total / int(copies) for total in totals[-int(runs):])
    return "ggml,%s,%.2f,%.2f,%.2f,,," % (work, statistics.median(each), each[0], each[-1])


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    name, seconds = sys.argv[1], float(sys.argv[2])
    clock, totals = Clock(), []
    process = subprocess.Popen(sys.argv[3:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with open(name, "w") as out, open(name + ".log", "w") as log:
        print(COLUMNS, file=out)
        for line in process.stdout:
            log.write(line)
            total = re.match(r"Total time: ([\d.e+]+) us", line)
            if total:
                totals.append(float(total[1]))
            row = row_of_ggml(line.strip(), totals) if line.startswith("wall,") else line.strip()
            if row.startswith(("heed,", "ggml,")):
                print(row, clock.of_the_last(seconds), sep=",", file=out, flush=True)
                totals = []
    clock.end()
    sys.exit(process.wait())


if __name__ == "__main__":
    main()
