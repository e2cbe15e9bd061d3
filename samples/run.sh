#!/usr/bin/env bash
# Installs what is missing (Debian, Ubuntu), builds heed into build/ and runs a sample.
#   samples/run.sh [tour] [ARGUMENTS...]    attention of a sentence; pictures go to build/tour
#   samples/run.sh heed ARGUMENTS...        the heed program: devices, verify, bench, tune
#   samples/run.sh search [ARGUMENTS...]    finds a game's intents by meaning
#   samples/run.sh talk [ARGUMENTS...]      a conversation with a character, by a language model; --listen: by voice
#   samples/run.sh listen [FILE...]         writes down speech from sound files or the microphone
#   samples/run.sh learn [ARGUMENTS...]     trains a character-level model, with its loss curve in build/learned
#   samples/run.sh learn --lora FILE        teaches a language model a character's voice, in build/voice
#   samples/run.sh swarm [ARGUMENTS...]     thousands of agents steered by attention, in a window; --learn: they learn to flee
#   samples/run.sh godot [ARGUMENTS...]     a village in Godot 4 whose birds and people use heed; --headless --png FILE draws it;
#                                           --scene crowd: a crowd steered by a policy from PyTorch
# "samples/run.sh SAMPLE --help" prints a sample's arguments. A first word that is one slip away from a sample's name (a letter
# too many, missing, wrong, or two swapped) counts as mistyped and not as the tour's words.
set -euo pipefail

# mistyped WORD NAME: whether WORD is one slip away from NAME, ignoring case
mistyped() {
  local word=${1,,} name=$2 i
  for ((i = 0; i <= ${#name}; i++)); do
    local before=${name:0:i} at=${name:i:1} after=${name:i+1}
    case $word in
      "$before"?"$at$after" | "$before"?"$after" | "$before$after" | "$before${after:0:1}$at${after:1}") return 0 ;;
    esac
  done
  return 1
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sample=tour target=tour
case ${1:-} in
  tour) shift ;;
  heed) sample=heed target=heed_program; shift ;;
  search) sample=search target=search; shift ;;
  talk) sample=talk target=talk; shift ;;
  listen) sample=listen target=listen; shift ;;
  learn) sample=learn target=learn; shift ;;
  swarm) sample=swarm target=swarm; shift ;;
  godot) sample=godot target=heed; shift ;;
  -h | --help) sed -n '2,/^set /s/^# //p' "${BASH_SOURCE[0]}"; exit ;;
  *)
    for name in tour heed search talk listen learn swarm godot; do
      mistyped "${1:-}" $name || continue
      echo "samples/run.sh: there is no sample '$1'; there are: tour, heed, search, talk, listen, learn, swarm, godot" \
        "(for the attention of these words: samples/run.sh tour $1)" >&2
      exit 2
    done ;;
esac

"$root/tests/drivers/install.sh" samples
case $sample in
  search | talk | listen | swarm) "$root/tests/drivers/install.sh" "$sample" ;;&
  talk) [[ " $* " != *" --listen"[=\ ]* ]] || "$root/tests/drivers/install.sh" listen ;;
  godot) for needed in talk listen roots; do "$root/tests/drivers/install.sh" "$needed"; done ;;
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
  generator=(-G Ninja -DCMAKE_UNITY_BUILD=ON)
  echo "building heed, some minutes the first time ..."
fi
quietly configure cmake -S "$root" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
  -DHEED_BUILD_TESTS=OFF -DHEED_BUILD_SAMPLES=ON
quietly build cmake --build "$build" --target "$target" --parallel "$(nproc)"

program=$build/samples/$sample/$sample
case $sample in
  tour) exec "$program" --out "$build/tour" "$@" ;;
  godot) exec "$root/samples/godot/run.sh" "$build" "$@" ;;
  learn)
    case " $* " in
      *" --lora"[=\ ]*)
        model=$("$root/samples/talk/fetch_model.sh")
        exec "$program" --out "$build/voice" --model "$model" "$@"
        ;;
    esac
    exec "$program" --out "$build/learned" "$@"
    ;;
esac
if [[ -x $root/samples/$sample/prepare.sh ]]; then
  prepared=$("$root/samples/$sample/prepare.sh" "$build" "$@")
  arguments=()
  [[ -z $prepared ]] || mapfile -t arguments <<<"$prepared"
  exec "$program" "${arguments[@]}" "$@"
fi
exec "$program" "$@"
