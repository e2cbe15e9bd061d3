#!/usr/bin/env python3
"""Runs heed's tests on all processors, each test case in its own process.

  run_tests.py PROGRAM LOGS SECONDS SPEC=DEVICES...     SPEC: test cases in Catch2's syntax; DEVICES: their HEED_TEST_DEVICES

SECONDS limits all of them together. Each writes a log into the folder LOGS. Exit code 1 unless all pass."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time

PASSED, FAILED, LATE = "passed", "FAILED", "no time"
# The longest tests start first.
LONG = ("goldens", "decoders", "attention", "matmul", "quantized", "random", "reproducible")


def names_of(program, spec):
    """Catch2 returns the number of listed tests as its exit code."""
    listed = subprocess.run([program, spec, "--list-test-names-only"], stdout=subprocess.PIPE, text=True).stdout
    return [line.strip() for line in listed.splitlines() if line.strip()]


def run(program, logs, number, name, devices, end):
    """How one test case ended, its seconds, and its log."""
    log = logs / ("%03d-%s.log" % (number, "".join(c if c.isalnum() else "_" for c in name)[:80]))
    start = time.monotonic()
    if start >= end:
        return LATE, 0.0, log
    spec = "".join("\\" + c if c in "\\,[]" else c for c in name)
    with open(log, "w") as out:
        try:
            code = subprocess.run([program, spec], stdout=out, stderr=subprocess.STDOUT, timeout=end - start,
                                  env=dict(os.environ, HEED_TEST_DEVICES=devices)).returncode
        except subprocess.TimeoutExpired:
            return LATE, time.monotonic() - start, log
    ran = code == 0 and " passed" in log.read_text(errors="replace")  # some tests assert nothing on some devices
    return PASSED if ran else FAILED, time.monotonic() - start, log


def main():
    program, logs, seconds = sys.argv[1], pathlib.Path(sys.argv[2]), float(sys.argv[3])
    logs.mkdir(parents=True, exist_ok=True)
    cases = []
    for word in sys.argv[4:]:
        spec, devices = word.rsplit("=", 1)
        names = names_of(program, spec)
        if not names:
            sys.exit("FAIL no test case is '%s'" % spec)
        cases += [(name, devices) for name in names if (name, devices) not in cases]
    cases.sort(key=lambda case: not any(word in case[0] for word in LONG))
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda i: run(program, logs, i, *cases[i], start + seconds), range(len(cases))))
    with open(logs / "summary.txt", "w") as summary:
        for (name, devices), (state, took, log) in zip(cases, results):
            print("%s %6.1f s  %s (%s) %s" % (state, took, name, devices, log.name), file=summary)
            if state != PASSED:
                print("%s  %s (%s): %s" % (state, name, devices, log))
    counts = {state: sum(result[0] == state for result in results) for state in (PASSED, FAILED, LATE)}
    print("%d passed, %d failed, %d not run or not ended in %.0f of %.0f s"
          % (*counts.values(), time.monotonic() - start, seconds))
    sys.exit(0 if counts[PASSED] == len(cases) else 1)


if __name__ == "__main__":
    main()
