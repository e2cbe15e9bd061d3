#!/usr/bin/env bash
# Installs what is missing (Debian, Ubuntu), builds heed into build/ and runs a sample.
#   samples/run.sh [tour] [ARGUMENTS...]    attention on a sentence; pictures go to build/tour
#   samples/run.sh heed ARGUMENTS...        the heed program: devices, verify, bench
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sample=tour target=tour
case ${1:-} in
  tour) shift ;;
  heed) sample=heed target=heed_program; shift ;;
esac

"$root/tests/drivers/install.sh" samples

build=$root/build
mkdir -p "$build"
quietly() {
  local log=$build/$1.log
  shift
  "$@" </dev/null >"$log" 2>&1 || { tail -n 40 "$log" >&2; echo "failed: $* (all of it: $log)" >&2; exit 1; }
}
generator=()
if [[ ! -f $build/CMakeCache.txt ]]; then
  generator=(-G Ninja)
  echo "building heed, a minute or two the first time ..."
fi
quietly configure cmake -S "$root" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release
quietly build cmake --build "$build" --target "$target" --parallel "$(nproc)"

program=$build/samples/$sample/$sample
if [[ $sample == tour ]]; then
  exec "$program" --out "$build/tour" "$@"
fi
exec "$program" "$@"
