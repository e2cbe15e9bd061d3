#!/usr/bin/env bash
# Runs swarm on the driver of the environment (see tests/drivers/with.sh); short runs use the validation layer with its
# synchronization validation. One line per case: "ok NAME" or "FAIL NAME: why".
#   test.sh FOLDER_OF_PROGRAMS [FOLDER]           behaviour, pictures, wrong input
#   test.sh FOLDER_OF_PROGRAMS FOLDER --short     a picture, a window, lockstep and wrong input, for drivers that take half a
#                                                 minute to start
#   test.sh FOLDER_OF_PROGRAMS FOLDER --bad-only  wrong input only, for machines without Vulkan
set -uo pipefail

programs=${1:?usage: test.sh FOLDER_OF_PROGRAMS [FOLDER] [--short|--bad-only]}
folder=${2:-$(mktemp -d)}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
swarm=$programs/swarm
mkdir -p "$folder"
unset DISPLAY WAYLAND_DISPLAY
failures=0

report() {  # NAME WHY; no WHY: it passed
  if [[ -z $2 ]]; then echo "ok swarm/$1"; else
    echo "FAIL swarm/$1: $2"
    failures=$((failures + 1))
  fi
}
holds() { awk "BEGIN { exit !($1) }"; }
is_png() { [[ -s $1 && $(head -c 8 "$1" | od -An -tx1 | tr -d ' \n') == 89504e470d0a1a0a ]]; }

# check NAME EXPECTED_CODE PATTERN ARGUMENTS...   bad input prints one line
check() {
  local name=$1 expected=$2 pattern=$3 out code why=""
  shift 3
  out=$(timeout 900 "$swarm" "$@" </dev/null 2>&1)
  code=$?
  [[ $code -eq $expected ]] || why="exit code $code instead of $expected: ${out:0:300}"
  grep -qE -- "$pattern" <<<"$out" || why+=" no '$pattern' in: ${out:0:300}"
  if [[ $expected -eq 2 && $(wc -l <<<"$out") -ne 1 ]]; then why+=" more than one line: ${out:0:300}"; fi
  report "$name" "$why"
}

# --- Wrong input --------------------------------------------------------------------------------------------------

check help 0 "--flavour" --help
check unknown-option 2 "wat" --wat
check unknown-flavour 2 "flavour" --flavour herd
check no-budget 2 "attention-budget" --attention-budget 0
check budget-that-is-no-number 2 "--budget: nan is not a number" --budget nan
check no-agents 2 "agents" --agents 0
check too-many-agents 2 "agents" --agents 1000000
check learn-with-a-flavour 2 "excludes" --learn --flavour conga
check learn-with-lights 2 "excludes" --learn --targets 9
check learn-with-attention-budget 2 "excludes" --learn --attention-budget 1
check hunters-without-learn 2 "hunters requires --learn" --hunters 2
check too-many-hunters 2 "hunters" --learn --hunters 7
check no-learn-budget 2 "learn-budget" --learn --learn-budget 0
check seed-without-learn 2 "seed requires --learn" --seed 3
check replay-without-lockstep 2 "replay requires --lockstep" --replay game.replay
check seed-below-zero 2 "seed" --learn --seed -1
check no-such-head 2 "heads" --heads 5
check bad-size 2 "WIDTHxHEIGHT" --size 640
check huge-size 2 "WIDTHxHEIGHT" --size 99999x99999 --headless
HEED_VULKAN_LOADER=/nonexistent/libvulkan.so.1 check no-vulkan 2 "no Vulkan loader" --headless --frames 1
check no-display 2 "no display.*--headless" --frames 1
[[ ${3:-} != --bad-only ]] || { [[ $failures -eq 0 ]]; exit; }
check unknown-device 2 "no device matches 'no-such-gpu'; there is 0: " --device no-such-gpu --headless
[[ ${3:-} == --short ]] || check png-into-nothing 2 "cannot write .*nowhere/out.png" --headless --frames 1 --agents 32 \
  --size 64x64 --png "$folder/nowhere/out.png"

# --- Behaviour: statistics of the first and the last frame, by --report ------------------------------------------------

# Few frames of each kind run with the layer, whose time for each grows with their number.
small=(--headless --overlay none --size 160x96)
# value WHEN NAME: a number from the report of the last `watch`
value() { awk -v when="$1:" -v name="$2" '$1 == when { for (i = 2; i < NF; ++i) if ($i == name) print $(i + 1) }' <<<"$said"; }
# watch NAME CONDITION ARGUMENTS...   CONDITION is awk's, with the names first_* and last_*
watch() {
  local name=$1 condition=$2 code why="" what
  shift 2
  said=$(timeout 900 "$swarm" "${small[@]}" --report "$@" </dev/null 2>"$folder/errors.txt")
  code=$?
  [[ $code -eq 0 ]] || why="exit code $code: $(head -c 400 "$folder/errors.txt")"
  if [[ $said == *"NOT FINITE"* ]]; then why+=" positions are not finite"; fi
  for what in spread order distance; do
    condition=${condition//first_$what/$(value first $what)}
    condition=${condition//last_$what/$(value last $what)}
  done
  [[ -n $why ]] || holds "$condition" || why="not so: $condition"
  report "$name" "$why"
}

if [[ ${3:-} != --short ]]; then
  watch flock-shrinks "last_spread < 0.6 * first_spread" --flavour flock --agents 240 --frames 200
  watch conga-keeps-its-order "first_order < 0.6 && last_order > 0.95" --flavour conga --agents 180 --frames 400
  watch cross-comes-to-the-lights "last_distance < 0.6 * first_distance" --flavour cross --agents 300 --targets 24 --frames 160
  # With a budget this small each frame computes one dispatch, and agents steer by a result that is frames old.
  watch flock-with-a-budget "last_spread < 0.75 * first_spread" --flavour flock --agents 240 --frames 200 --attention-budget 0.001
  parts=$(awk '$1 == "spread:" { print $3 }' <<<"$said") finished=$(awk '$1 == "spread:" { print $5 }' <<<"$said")
  report budget-spreads "$([[ $parts -eq 200 && $finished -gt 0 && $finished -lt 120 ]] || echo "$parts parts of $finished runs")"
  # Without the heads that cause a behaviour it does not appear.
  watch headings-alone-do-not-flock "last_spread > 0.65 * first_spread" --flavour flock --heads 2 --agents 240 --frames 60
  watch giving-way-is-no-line "last_order < 0.7" --flavour conga --heads 4 --agents 180 --frames 100
  watch glare-attracts-nobody "last_distance > 0.75 * first_distance" --flavour cross --heads 4 --agents 300 --targets 24 --frames 100
  watch cross-with-a-budget "last_distance < 0.7 * first_distance" --flavour cross --agents 300 --targets 24 --frames 160 --attention-budget 0.001
  watch a-budget-for-all-of-it "last_spread < 0.6 * first_spread" --flavour flock --agents 240 --frames 120 --attention-budget 1000

  small+=(--validate)
  for flavour in flock conga; do watch valid-$flavour "last_spread > 0" --flavour $flavour --agents 180 --frames 20; done
  watch valid-with-a-budget "last_spread > 0" --flavour cross --agents 180 --frames 40 --attention-budget 0.001
  watch fewest-agents "last_spread > 0" --agents 32 --frames 3
  watch odd-numbers "last_spread > 0" --flavour cross --agents 131 --targets 2 --frames 3
fi

# --- Learning ---------------------------------------------------------------------------------------------------------------

# learn NAME ARGUMENTS...: puts the survival line of --learn into `said`
learn() {
  local name=$1 code
  shift
  said=$(timeout 900 "$swarm" --headless --overlay none --size 160x96 --learn "$@" </dev/null 2>"$folder/errors.txt")
  code=$?
  [[ $code -eq 0 && $said == "survival: "* ]] || report "$name" "exit code $code: ${said:0:200} $(head -c 400 "$folder/errors.txt")"
}
# number AFTER: the number that follows these words in `said`
number() { sed -n "s/.*$1 \([0-9.]*\).*/\1/p" <<<"$said"; }

if [[ ${3:-} != --short ]]; then
  learn learns --agents 384 --hunters 6 --frames 780 --seed 2
  first=$(number "first quarter") last=$(number "last quarter")
  report agents-learn-to-flee "$(holds "${last:-0} >= 30 && ${last:-0} >= 1.5 * ${first:-99}" || echo "$said")"
  learn learns-again --agents 96 --frames 24 --seed 7 --validate --learned "$folder/learned-1.safetensors"
  learn learns-again --agents 96 --frames 24 --seed 7 --learned "$folder/learned-2.safetensors"
  report same-weights-again "$(cmp "$folder/learned-1.safetensors" "$folder/learned-2.safetensors" 2>&1)"
  learn other-seed --agents 96 --frames 24 --seed 8 --learned "$folder/learned-3.safetensors"
  report another-seed-other-weights "$(! cmp -s "$folder/learned-1.safetensors" "$folder/learned-3.safetensors" || echo "the same bits")"
  # With a budget this small a frame records one dispatch of a step.
  learn slices --agents 64 --frames 200 --learn-budget 0.001 --validate
  steps=$(sed -n 's/.*; \([0-9]*\) steps.*/\1/p' <<<"$said") parts=$(number "steps in")
  report steps-in-slices "$([[ $parts -eq 200 && $steps -gt 0 && $steps -lt 40 ]] || echo "$said")"
  check learned-into-nothing 2 "cannot write .*nowhere/learned.safetensors" --headless --learn --frames 2 --agents 32 --size 64x64 \
    --learned "$folder/nowhere/learned.safetensors"
fi

# --- Two devices in lockstep --------------------------------------------------------------------------------------------

keys=$folder/keys.replay
there=vulkan
[[ ${3:-} != --short ]] || there="(vulkan|cpu)"  # SwiftShader does not support rounding to nearest
check lockstep 0 "^300 frames in lockstep, on $there.* and on cpu: the world is [0-9a-f]{16} on both$" --lockstep --frames 300 --record "$keys"
check lockstep-of-instruction-sets 0 "in lockstep, on cpu and on cpu" --lockstep --device cpu --frames 300
world=$("$swarm" --lockstep --replay "$keys" --device cpu 2>&1 | tail -n 1)
there=$("$swarm" --lockstep --replay "$keys" 2>&1 | tail -n 1)
report replays-agree "$([[ -n $world && ${world##* } == "${there##* }" ]] || echo "'$world' and '$there'")"
printf 'something else' >"$folder/bad.replay"
said=$(timeout 900 "$swarm" --lockstep --device cpu --beside nonsense --frames 2 </dev/null 2>&1)
code=$?
report no-device-beside "$([[ $code -eq 2 && $said == *"the other process has ended"* ]] || echo "exit code $code: ${said:0:300}")"
check no-replay 2 "is no replay" --lockstep --replay "$folder/bad.replay"

# --- Pictures ----------------------------------------------------------------------------------------------------------

still=(--headless --overlay none --size 480x272 --agents 200 --targets 24)
# apart A B: the mean difference of blocks of pixels, in steps of 255
apart() { "$programs/swarm_compare" "$1" "$2" | awk '{ print $2 }'; }
flavours=(flock conga cross)
[[ ${3:-} != --short ]] || flavours=(conga)
for flavour in "${flavours[@]}"; do
  "$swarm" "${still[@]}" --flavour $flavour --frames 45 --png "$folder/$flavour.png" </dev/null >"$folder/$flavour.txt" 2>&1
  code=$? why=""
  [[ $code -eq 0 ]] || why="exit code $code: $(head -c 300 "$folder/$flavour.txt")"
  is_png "$folder/$flavour.png" || why="no picture: $(head -c 300 "$folder/$flavour.txt")"
  far=$(apart "$folder/$flavour.png" "$here/reference/$flavour.png")
  [[ -n $why ]] || holds "${far:-99} < 0.6" || why="$far of 255 from reference/$flavour.png"
  report "picture-of-$flavour" "$why"
done
if [[ ${3:-} != --short ]]; then
  far=$(apart "$folder/flock.png" "$folder/conga.png")
  report pictures-differ "$(holds "${far:-0} > 1.2" || echo "flock and conga are only $far of 255 apart")"
  "$swarm" "${still[@]}" --flavour conga --frames 45 --png "$folder/again.png" </dev/null >/dev/null 2>&1
  report same-bits-again "$(cmp "$folder/conga.png" "$folder/again.png" 2>&1)"
fi

# --- A window, if a virtual display is available ---------------------------------------------------------

if ! command -v Xvfb >/dev/null || ! command -v xdotool >/dev/null; then
  echo "SKIPPED: no Xvfb or xdotool, so no window was opened"
  [[ $failures -eq 0 ]]
  exit
fi
rm -f "$folder/display.txt" "$folder/window.png"
Xvfb -displayfd 9 -screen 0 800x600x24 9>"$folder/display.txt" >/dev/null 2>&1 &
server=$!
trap 'kill $server 2>/dev/null' EXIT
for _ in $(seq 100); do [[ -s $folder/display.txt ]] && break; sleep 0.1; done
DISPLAY=:$(cat "$folder/display.txt")
export DISPLAY

window=(--validate --report --agents 96 --size 480x270)
check window 0 "^window: 12 frames, flavour flock, heads 1234, 96 agents, moving$" "${window[@]}" --frames 12 \
  --png "$folder/window.png"
report window-picture "$(is_png "$folder/window.png" || echo "no picture of the window")"
[[ ${3:-} != --short ]] || { [[ $failures -eq 0 ]]; exit; }
check window-that-learns 0 "; 12 steps in 12 parts" "${window[@]}" --learn --frames 12

# Keys: to the right twice, head 2 off, twice the agents, pause; the window grows; the end.
timeout 900 "$swarm" "${window[@]}" --frames 5000 </dev/null >"$folder/keys.txt" 2>&1 &
player=$!
id=$(timeout 120 xdotool search --sync --name '^swarm$' | head -n 1)
press() { xdotool key --window "$id" "$1"; sleep 0.4; }
for key in Right Right 2 Up space; do press $key; done
xdotool windowsize "$id" 620 400; sleep 0.6
xdotool mousemove --window "$id" 300 200 mousedown 3 mousedown 1; sleep 0.5; xdotool mouseup 1 mouseup 3
press Escape
wait $player
code=$?
why=""
[[ $code -eq 0 ]] || why="exit code $code"
grep -q "flavour cross, heads 134, 192 agents, paused$" "$folder/keys.txt" || why+=" $(head -c 400 "$folder/keys.txt")"
report keys-mouse-and-resizing "$why"
[[ $failures -eq 0 ]]
