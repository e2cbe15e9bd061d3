#!/usr/bin/env bash
# Installs what is missing (Debian, Ubuntu), builds heed and tests it. The last line is "N passed, N failed"; the exit code is
# 0 if nothing failed.
#   tests/run.sh            the quick tier: what tells most within some minutes. It says at its end what it left out
#   tests/run.sh --all      everything
#   tests/run.sh STAGE...   these stages, whole, and what they need
#   tests/run.sh --list     the stages, a line for each
# Two stages run side by side where there are two processors. What a stage says is printed when it ends; its logs stay in
# build/stages/STAGE/. tests/README.md tells what each stage finds, how long it takes, and all environment variables.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
build=$root/build
stages=$root/tests/stages
with=$root/tests/drivers/with.sh
tests=$build/tests/heed_tests
heed=$build/samples/heed/heed
export HEED_DRIVER_FOLDER=${HEED_DRIVER_FOLDER:-$build/drivers}

# In the order in which they start: long ones early, so that no processor waits for the last one.
quick_stages="packages build lavapipe cpu interpreter vulkan headers format self_test"
all_stages="packages self_test format shaders headers build roots lavapipe samples widths lavapipe-26 swiftshader sanitize
  interpreter compilers godot swarm search models talk learn python packaging c recipes reproducible bounds tsan vulkan memcheck
  cpu tour glsl capture"
other_stages="random aarch64 windows"  # slow, or in need of what only some systems have: only by name

source "$root/tests/harness/checks.sh"
source "$root/tests/harness/stages.sh"

list() {
  local name
  for name in "$@"; do printf '  %-13s %s\n' "$name" "$(setting "$name" about)"; done
}
complain() {
  echo "tests/run.sh: there is no stage '$1'; the stages are" >&2
  list $all_stages $other_stages >&2
  exit 2
}

quick=0
case ${1:-} in
  -h | --help) sed -n '2,/^set /s/^# //p' "${BASH_SOURCE[0]}"; exit ;;
  --list) list $all_stages $other_stages; exit ;;
  --all) chosen=$all_stages ;;
  "") chosen=$quick_stages quick=1 ;;
  *)
    for name in "$@"; do [[ " $(echo $all_stages $other_stages) " == *" $name "* ]] || complain "$name"; done
    chosen=packages\ $*
    ;;
esac

mapfile -t chosen < <(with_needs $chosen)
run_stages "${chosen[@]}"

printf '%-16s %6s %6s %8s %10s\n' stage passed failed seconds "processor's"
printf '%s\n' "${table[@]}"
echo "all: $SECONDS s"
if [[ $quick -eq 1 ]]; then
  printf '\nLeft out, beside most of lavapipe and interpreter, slow tests, language models of vulkan, and the kernels that lavapipe would use:\n'
  for name in $all_stages $other_stages; do [[ " ${chosen[*]} " == *" $name "* ]] || list "$name"; done
  echo "tests/run.sh --all runs all of it but: $other_stages. tests/run.sh STAGE... runs what it names, whole."
fi
print_skipped "${chosen[@]}"
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[[ $failed -eq 0 && $passed -gt 0 ]]
