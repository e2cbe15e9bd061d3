#!/usr/bin/env bash
# Runs tests/python, or another Python program, in a virtual environment with the wheel, on the CPU and, if it is installed, on lavapipe.
#   run.sh FOLDER [PROGRAM ARGUMENT...]
set -uo pipefail
folder=${1:?usage: run.sh FOLDER [PROGRAM ARGUMENT...]}
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
with=$here/../drivers/with.sh
driver=lavapipe
"$with" $driver true || { echo "SKIPPED: lavapipe is not installed"; driver=none; }
[[ $# -gt 0 ]] || set -- -m pytest -q -p no:cacheprovider --durations=20 -o python_files='*_test.py' "$here"
PYTHONDONTWRITEBYTECODE=1 GALLIVM_PERF=nopt exec "$with" $driver "$folder/bin/python" "$@"
