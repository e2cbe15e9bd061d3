#!/usr/bin/env bash
# Installs what is missing (Debian, Ubuntu), builds heed in build/ and runs tests by CTest. The last line is CTest's own, "100% tests
# passed,
# 0 tests failed out of N"; the exit code is 0 if nothing failed.
#   tests/run.sh            the label quick: the most informative tests, within some minutes
#   tests/run.sh --all      the label all: everything except the label slow
#   tests/run.sh WORD...    tests that have one of these labels or names, and the fixtures that they need
#   tests/run.sh --list     all labels and tests
#   tests/run.sh [--all] -- OPTION...   with additional options of ctest, such as `-- -E interpreter`
# Two tests run side by side if there are two processors. Prints the output of failed tests; the output of all is in
# build/Testing/Temporary/LastTest.log. tests/README.md says what each label finds; tests/variables.md has the environment variables.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
exec </dev/null
build=$root/build

preset=release packages=all-tests targets=(all heed_c_tests)
words=() options=()
while [[ $# -gt 0 && $1 != -- ]]; do words+=("$1") && shift; done
[[ $# -eq 0 ]] || options=("${@:2}")
set -- "${words[@]}"
case ${1:-} in
  -h | --help) sed -n '2,/^set /s/^# //p' "${BASH_SOURCE[0]}"; exit ;;
  --list) packages=tests ;;
  --all) preset=all ;;
  "") preset=quick packages=tests targets=(heed_tests heed_program) ;;
  -*) echo "tests/run.sh: there is no option '$1'; see tests/run.sh --help" >&2; exit 2 ;;
esac

# quietly NAME COMMAND...: prints the end of the command's output if it fails
quietly() {
  local log=$build/$1.log
  shift
  "$@" >"$log" 2>&1 || { tail -n 60 "$log"; echo "tests/run.sh: failed: $* (all of it: $log)"; exit 1; }
}

tests/drivers/install.sh "$packages"
mkdir -p "$build"
generator=()
[[ -f $build/CMakeCache.txt ]] || generator=(-G Ninja -DCMAKE_UNITY_BUILD=ON)
quietly configure cmake -S "$root" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DHEED_WERROR=ON -DHEED_BUILD_TESTS=ON \
  -DHEED_BUILD_SAMPLES=ON
if [[ ${1:-} == --list ]]; then
  ctest --test-dir "$build" --print-labels
  ctest --test-dir "$build" -N 2>/dev/null | grep '^ *Test *#'
  exit
fi

# names_of FILTER...: prints the names of tests
names_of() { ctest --test-dir "$build" -N "$@" 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: //p'; }
chosen=()
if [[ $preset == release ]]; then
  names=()
  for word in "$@"; do
    mapfile -t found < <(names_of -L "^$word\$"; names_of -R "^$word\$")
    [[ ${#found[@]} -gt 0 ]] || { echo "tests/run.sh: no test has the label or name '$word'; see tests/run.sh --list" >&2; exit 2; }
    names+=("${found[@]}")
  done
  chosen=(-R "^($(IFS='|'; echo "${names[*]}"))\$")
fi

echo "building ..."
quietly build cmake --build "$build" --target "${targets[@]}" --parallel "$(nproc)"
echo "built after $SECONDS s"

at_once=$(($(nproc) > 1 ? 2 : 1))
# How many processors a test may use that builds something.
export CMAKE_BUILD_PARALLEL_LEVEL=$(($(nproc) / at_once)) CTEST_PARALLEL_LEVEL=$(($(nproc) / at_once))
log=$build/ctest.log
set +e
ctest --preset "$preset" --parallel "$at_once" "${chosen[@]}" "${options[@]}" 2>&1 | tee "$log" | grep --line-buffered -a -v -E '^[0-9]+% tests passed, '
code=${PIPESTATUS[0]}
set -e
# Prints why tests were skipped, and CTest's closing line last.
awk '/^ *[0-9]+\/[0-9]+ Testing: / { name = $3 } /^SKIPPED/ { print name ": " $0 }' "$build/Testing/Temporary/LastTest.log"
echo "all: $SECONDS s"
grep -a -E '^[0-9]+% tests passed, ' "$log" | tail -n 1 || { echo "tests/run.sh: CTest did not come to its end"; code=1; }
exit "$code"
