#!/usr/bin/env bash
# Runs the add-on's tests in a root that get_godot.sh made, on a copy of the project: headless, and under Xvfb on Mesa's software
# driver with Khronos' validation, with a safe and a separate render thread.
#   test.sh ROOT LIBRARY MODEL ENCODER WHISPER [EXPORTED]   LIBRARY: libheed_godot.so; MODEL: a GGUF file; ENCODER: a folder of
#                        all-MiniLM-L6-v2; WHISPER: one of Whisper tiny.en; EXPORTED: the output folder of tests/onnx/pytorch.sh
set -uo pipefail

folder=${1:?usage: test.sh ROOT LIBRARY MODEL ENCODER WHISPER [EXPORTED]} library=${2:?no library} model=${3:?no model} encoder=${4:?no encoder}
whisper=${5:?no model of speech} from_pytorch=${6:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
drivers=$here/../../tests/drivers
bin=$folder/project/addons/heed/bin out=$folder/out
source "$here/in_godot.sh"
failures=0

fail() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }

# check SECONDS NAME ARGUMENTS...: Godot must end with exit code 0 and print "passed", and no sign of a crash.
check() {
  local seconds=$1 name=$2 log=$out/$2.log begin=$SECONDS
  shift 2
  run_godot "$seconds" "$@" >"$log" 2>&1 || fail "$name: Godot's exit code $?"
  grep -aE '^(FAILED|SCRIPT ERROR|Parse Error)' "$log" | head -n 20
  grep -aqE 'FAILED|SCRIPT ERROR|Parse Error|handle_crash|signal 11' "$log" && fail "$name (all of it: $log)"
  echo "$name: $((SECONDS - begin)) s"
}
passes() {
  check "$@"
  grep -aqx passed "$out/$2.log" || fail "$2 did not come to its end (all of it: $out/$2.log)"
}

# The validation messages, without those about Godot itself; if the RenderingDevice is freed first, some are expected.
check_validation() {
  local name=$1 allowed="VUID-VkSubpassDescription2-externalFormatResolve-09338${2:+|$2}"
  grep -aoE '(VUID|SYNC)-[A-Za-z0-9-]+' "$out/validation.txt" 2>/dev/null | grep -vE "$allowed" | sort | uniq -c | head >"$out/$name.validation"
  [[ ! -s $out/$name.validation ]] || fail "$name: validation: $(cat "$out/$name.validation")"
  [[ -e $out/validation.txt ]] || [[ $name != faults* ]] || fail "$name: validation was not on"
  rm -f "$out/validation.txt"
}

[[ $(nm -D --defined-only "$library" | awk '{ print $NF }') == heed_godot_init ]] || fail "$library shows more than its entry"
copy_project "$here" "$library"
cp -Lu "$model" "$folder/model.gguf"
mkdir -p "$folder/encoder" "$folder/whisper"
cp -rLu "$encoder/." "$folder/encoder/"
cp -rLu "$whisper/." "$folder/whisper/"
cp "$here/../../tests/speech/open-door.wav" "$folder/"
# PyTorch's exports, if there are any, and the script on the page From ONNX.
rm -rf "$folder/exported"
if [[ -e $from_pytorch/policy.onnx ]]; then
  cp -r "$from_pytorch" "$folder/exported"
else
  echo "SKIPPED: no models that PyTorch exported in ${from_pytorch:-a folder}, so that they are not loaded"
fi
sed -n '/^```gdscript$/,/^```$/{/^```/d;p}' "$here/../../include/heed/guide/from_onnx.md" >"$folder/project/tests/page.gd"
cp "$here/demo/policy.onnx" "$folder/project/"
# Files that are no models: a small one truncated in its header, in its middle and near its end, and a folder.
mkdir -p "$folder/hostile/folder.gguf"
small=$here/../../tests/models/llama.gguf
bytes=$(stat -L -c %s "$small")
for part in 0 3 40 "$((bytes / 2))" "$((bytes - 1))"; do head -c "$part" "$small" >"$folder/hostile/$part.gguf"; done
rm -f "$out"/*.log "$out/validation.txt"

headless=1
passes 200 speaker --script tests/speaker.gd -- /model.gguf /hostile /personas/blacksmith.txt
passes 100 intents --script tests/intents.gd -- /encoder
passes 60 listener --script tests/listener.gd -- /whisper /open-door.wav "Please open the door and look inside."
passes 60 model_cpu --script tests/model.gd -- /out cpu
passes 60 attention_cpu --script tests/attention.gd -- /out cpu
# Every class, method, argument, property and signal is documented, or Godot would write another file.
rm -rf "$out/doc_classes"
cp -r "$here/doc_classes" "$out/"
check 60 documentation --doctool /out --gdextension-docs
diff -r "$here/doc_classes" "$out/doc_classes" || fail "doc_classes is not what Godot makes of the classes"
# An exported game, which is a program with a pack beside it. Without the library it starts and says what to do. With the library beside it,
# it plays, and says where models may be.
game=$out/game
rm -rf "$game"
mkdir "$game"
ln "$folder/usr/bin/godot" "$game/village"
cp "$here/tests/export_presets.cfg" "$folder/project/"
check 60 export --export-pack Linux /out/game/village.pck
# exported NAME OPTIONS...
exported() {
  timeout --signal KILL 60 "$drivers/in_root.sh" "$folder" sh -c '"$@"; exit $?' sh /out/game/village --headless --audio-driver Dummy \
    -- "${@:2}" </dev/null >"$out/$1.log" 2>&1
}
exported without && fail "an exported game starts without the library"
grep -aq 'Put the one for this system into addons/heed/bin' "$out/without.log" || fail "nothing is said without the library"
cp "$bin"/*.so* "$game/"
exported with --bench 1 --birds 20 --speak heed --model res://model.gguf --personas /personas --log /out/game/frames.log ||
  fail "an exported game: exit code $? (all of it: $out/with.log)"
grep -aq '^# frames' "$game/frames.log" && grep -aq 'res:// is inside the .pck' "$out/with.log" ||
  fail "an exported game does not play, or does not say where models may be (all of it: $out/with.log)"
# A network inside the .pck.
exported crowd --scene crowd --agents 12 --bench 1 || fail "an exported crowd: exit code $? (all of it: $out/crowd.log)"

headless=0 validation=1
for threads in safe separate; do
  passes 100 "attention_$threads" --render-thread "$threads" --resolution 64x64 --script tests/attention.gd -- /out
  check_validation "attention_$threads" 'VUID-vkDestroy(Device|Instance)-'  # a separate render thread leaks at exit without heed, too
  passes 100 "model_$threads" --render-thread "$threads" --resolution 64x64 --script tests/model.gd -- /out "${threads/separate/short}"
  check_validation "model_$threads" 'VUID-vkDestroy(Device|Instance)-'
  passes 100 "faults_$threads" --render-thread "$threads" --resolution 64x64 --script tests/faults.gd -- /model.gguf
  check_validation "faults_$threads" 'VUID-vkDestroy(Device|Instance)-'
  check 100 "village_$threads" --render-thread "$threads" --resolution 96x54 -- --bench 3 --log /out/frames.log
  check_validation "village_$threads" 'VUID-vkDestroy(Device|Instance)-'
  grep -aq '^# frames' "$out/frames.log" || fail "the demo logged no frames"
done
# Validation detects that heed's barriers are missing. The results do not count here.
c++ -std=c++20 -shared -fPIC -fvisibility=hidden -o "$out/no_barriers.so" "$here/tests/no_barriers.cpp" -ldl || fail "no_barriers.so is not built"
variables=LD_PRELOAD=/out/no_barriers.so
run_godot 100 --resolution 64x64 --script tests/attention.gd -- /out >"$out/no_barriers.log" 2>&1
variables=
hazards=$(grep -aoE 'SYNC-HAZARD-[A-Z-]+' "$out/validation.txt" | sort | uniq -c | tr -s '\n ' ' ')
[[ -n $hazards ]] || fail "validation notices no missing barrier"
echo "without heed's barriers validation says:$hazards"
rm -f "$out/validation.txt"
validation=0
passes 60 attention_compatibility --rendering-method gl_compatibility --rendering-driver opengl3 --resolution 64x64 \
  --script tests/attention.gd -- /out cpu
passes 100 gpu_speaker --resolution 64x64 --script tests/gpu_speaker.gd -- /model.gguf
[[ $failures -eq 0 ]]
