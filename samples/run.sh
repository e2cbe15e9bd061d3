#!/usr/bin/env bash
# Installs what is missing (Debian, Ubuntu), builds heed into build/ and runs a sample.
#   samples/run.sh [tour] [ARGUMENTS...]    attention on a sentence; pictures go to build/tour
#   samples/run.sh heed ARGUMENTS...        the heed program: devices, verify, bench, tune
#   samples/run.sh search [ARGUMENTS...]    a prompt that finds a game's intents by their meaning
#   samples/run.sh talk [ARGUMENTS...]      a conversation with a character, whom a language model speaks for
#   samples/run.sh learn [ARGUMENTS...]     a model of characters that learns to write, with its curve in build/learn
#   samples/run.sh swarm [ARGUMENTS...]     thousands of agents steered by attention, in a window
#   samples/run.sh godot [ARGUMENTS...]     a village in Godot 4, whose birds and people are heed's; --headless --png FILE draws it
# "samples/run.sh SAMPLE --help" prints a sample's arguments.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sample=tour target=tour
case ${1:-} in
  tour) shift ;;
  heed) sample=heed target=heed_program; shift ;;
  search) sample=search target=search; shift ;;
  talk) sample=talk target=talk; shift ;;
  learn) sample=learn target=learn; shift ;;
  swarm) sample=swarm target=swarm; shift ;;
  godot) sample=godot target=heed; shift ;;
  -h | --help) sed -n '2,/^set /s/^# //p' "${BASH_SOURCE[0]}"; exit ;;
esac

"$root/tests/drivers/install.sh" samples
case $sample in
  search | talk | swarm) "$root/tests/drivers/install.sh" "$sample" ;;
  godot) for needed in talk roots; do "$root/tests/drivers/install.sh" "$needed"; done ;;
esac

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
quietly configure cmake -S "$root" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
  -DHEED_BUILD_TESTS=OFF -DHEED_BUILD_SAMPLES=ON
quietly build cmake --build "$build" --target "$target" --parallel "$(nproc)"

program=$build/samples/$sample/$sample
case $sample in
  tour) exec "$program" --out "$build/tour" "$@" ;;
  learn) exec "$program" --out "$build/learned" "$@" ;;
  godot) exec "$root/samples/godot/run.sh" "$build" "$@" ;;
esac
if [[ -x $root/samples/$sample/prepare.sh ]]; then
  prepared=$("$root/samples/$sample/prepare.sh" "$build")
  mapfile -t arguments <<<"$prepared"
  exec "$program" "${arguments[@]}" "$@"
fi
exec "$program" "$@"
