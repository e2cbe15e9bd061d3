#!/usr/bin/env bash
# Frame times of the Godot demo while its characters are silent, speak by heed with a budget and without one, and speak by llama.cpp
# on a thread of the same process (tests/bench/godot_llama), with its CPU and its Vulkan backend. Prints a table, and ok or missed for
# each aim.
#   godot_frames.sh [OPTIONS] [ROW...]    default: all rows: silent heed unlimited alone heed-gpu unlimited-gpu llama llama-fewer
#   llama-vulkan
#   --seconds S    for each row (60)
#   --rounds N     rounds in which rows alternate, each for a part of its seconds: the machine's other load changes by the minute,
#                  and so spreads over all rows (3)
#   --budget MS    heed's milliseconds in each frame (4)
#   --fps F        limit of frames in a second (30; 0: no limit, so that no processor is ever idle)
#   --size WxH     size of the window (160x90, since a processor draws)
#   --birds N      birds in the flock (40)
#   --detail D     full or plain (plain: without shadows, sky, glow and smooth edges, for the same reason)
#   --markdown     prints only the section "Frame times" of samples/godot/README.md
# Gets Godot and llama.cpp from Debian sid, in the root of samples/godot (root rights, debootstrap), and the model; builds the add-on and
# the extension. Exit code 3: Godot or llama.cpp is not available here. GODOT_FRAMES_LIBRARY: an add-on that is built already.
# Measure on an idle machine. Everything is drawn by Mesa's lavapipe, so that drawing and speaking share the processor.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
seconds=60 rounds=3 budget=4 fps=30 size=160x90 birds=40 detail=plain form=text rows=()
command=tests/bench/godot_frames.sh${*:+ $*}
while [[ $# -gt 0 ]]; do
  case $1 in
    --markdown) form=markdown ;;
    --seconds | --rounds | --budget | --fps | --size | --birds | --detail)
      [[ $# -gt 1 ]] || { echo "godot_frames.sh: $1 needs a value" >&2; exit 2; }
      declare "${1#--}=$2"
      shift
      ;;
    -h | --help) sed -n '2,/^set /s/^# //p' "${BASH_SOURCE[0]}"; exit ;;
    silent | heed | unlimited | alone | heed-gpu | unlimited-gpu | llama | llama-fewer | llama-vulkan) rows+=("$1") ;;
    *) echo "godot_frames.sh: there is no row or option $1 (see --help)" >&2; exit 2 ;;
  esac
  shift
done
[[ ${#rows[@]} -gt 0 ]] || rows=(silent heed unlimited alone heed-gpu unlimited-gpu llama llama-fewer llama-vulkan)
folder=$root/build/roots/godot
out=$folder/out
log=$root/build/godot-frames.log
in_root=$root/tests/drivers/in_root.sh
mkdir -p "$root/build"
: >"$log"

for needed in talk roots; do "$root/tests/drivers/install.sh" "$needed" >&2 || exit 3; done
"$root/samples/godot/get_godot.sh" "$folder" || exit 3
if [[ ! -e $folder/usr/include/llama.h ]]; then
  "$in_root" "$folder" sh -c 'apt-get -qq update && apt-get -qq -y --no-install-recommends install g++ libllama-dev libggml-dev \
    libggml0-backend-vulkan' </dev/null >>"$log" 2>&1 || { echo "llama.cpp cannot be had from Debian sid ($log)" >&2; exit 3; }
fi
model=$("$root/samples/talk/fetch_model.sh" 2>>"$log" | tail -n 1)

library=${GODOT_FRAMES_LIBRARY:-$root/samples/godot/addons/heed/bin/libheed_godot.so}
if [[ -z ${GODOT_FRAMES_LIBRARY:-} ]]; then
  cmake -S "$root" -B "$root/build" -DCMAKE_BUILD_TYPE=Release >>"$log"
  cmake --build "$root/build" --target heed --parallel "$(nproc)" >>"$log" || { tail -n 20 "$log" >&2; exit 1; }
  cmake -S "$root/samples/godot" -B "$root/build/godot" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHEED_GODOT_HEED="$root/build" \
    -DHEED_GODOT_INTERFACE="$folder/interface" >>"$log"
  cmake --build "$root/build/godot" >>"$log" || { tail -n 20 "$log" >&2; exit 1; }
fi

# The extension is built in the root, since it links the root's llama.cpp.
sources=$folder/llama_speaker
mkdir -p "$sources"
cp -u "$here"/godot_llama/*.[ch]pp "$root"/samples/talk/persona.[ch]pp "$root"/samples/godot/extension/{godot,values,interface}.hpp \
  "$root"/samples/godot/extension/{godot,values}.cpp "$sources/"
cp -ru "$root/include/heed" "$sources/"
if [[ ! -e $sources/libllama_speaker.so || -n $(find "$sources" -newer "$sources/libllama_speaker.so" -name '*pp') ]]; then
  "$in_root" "$folder" sh -c 'cd /llama_speaker && g++ -std=c++20 -O2 -fPIC -fvisibility=hidden -DTALK_PERSONAS=\"\" -I. -I/interface \
    -shared -o libllama_speaker.so *.cpp -lllama -lggml -lggml-base -Wl,--no-undefined' </dev/null >>"$log" 2>&1 ||
    { tail -n 20 "$log" >&2; exit 1; }
fi

source "$root/samples/godot/in_godot.sh"
copy_project "$root/samples/godot" "$library"
mkdir -p "$folder/project/llama/bin"
cp "$here/godot_llama/llama_speaker.gdextension" "$folder/project/llama/"
cp "$sources/libllama_speaker.so" "$folder/project/llama/bin/"
echo res://llama/llama_speaker.gdextension >>"$folder/project/.godot/extension_list.cfg"
cp -Lu "$model" "$folder/model.gguf"

# play ROW OPTION...: one round of the demo, drawn on a virtual screen, or not drawn for the row "alone".
play() {
  local row=$1 how=(--rendering-driver vulkan --resolution "$size" --max-fps "$fps") headless=0
  shift
  # Without a limit the loop would spin and occupy a processor.
  [[ $row != alone ]] || { headless=1 how=(--max-fps 60); }
  run_godot $((part + 200)) "${how[@]}" -- --model /model.gguf --personas /personas --bench "$part" --birds "$birds" \
    --detail "$detail" --log "/out/$row.$round.txt" "$@" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; echo "the row $row ended early ($log)" >&2; }
}

part=$((seconds / rounds))
rm -f "$out"/*.[0-9]*.txt
for ((round = 0; round < rounds; ++round)); do for row in "${rows[@]}"; do
  case $row in
    silent) play silent --speak none ;;
    heed) play heed --speak heed --speech cpu --budget "$budget" ;;
    unlimited) play unlimited --speak heed --speech cpu --budget 0 ;;
    alone) play alone --speak heed --speech cpu --budget 0 ;;
    heed-gpu) play heed-gpu --speak heed --speech gpu --budget "$budget" ;;
    unlimited-gpu) play unlimited-gpu --speak heed --speech gpu --budget 0 ;;
    llama) variables="LLAMA_SPEAKER_THREADS=$(nproc)" play llama --speak LlamaSpeaker ;;
    llama-fewer) variables="LLAMA_SPEAKER_THREADS=$(($(nproc) > 1 ? $(nproc) - 1 : 1))" play llama-fewer --speak LlamaSpeaker ;;
    # ggml-vulkan ignores software drivers unless it is told to use one.
    llama-vulkan) variables="LLAMA_SPEAKER_GPU_LAYERS=99 GGML_VK_VISIBLE_DEVICES=0" play llama-vulkan --speak LlamaSpeaker ;;
  esac
done; done
versions=$("$in_root" "$folder" dpkg-query -W -f '${Package} ${Version}, ' godot libllama0 libggml0 mesa-vulkan-drivers 2>/dev/null || true)
setting="$size, $detail, $birds birds, $([[ $fps == 0 ]] && echo "no cap" || echo "at most $fps frames a second"), $seconds s a row in $rounds rounds"
setting+="; ${versions}heed $(git -C "$root" rev-parse --short HEAD), $(nproc) processors ($(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1))"
exec python3 "$here/peers/godot_frames.py" --form "$form" --command "$command" --setting "$setting" "$budget" "$out" "${rows[@]}"
