#!/usr/bin/env bash
# Gets Godot and the models, builds the add-on with the heed of the build folder BUILD, and opens the demo. samples/run.sh godot
# builds heed first.
#   run.sh BUILD [ARGUMENTS...]                 in a window; demo/options.gd lists the arguments
#   run.sh BUILD --headless --png FILE [...]    draws a picture under Xvfb, and ends
#   run.sh BUILD --headless --bench SECONDS --log FILE [...]   plays under Xvfb, and writes the time of each frame
# Needs root rights and debootstrap, since Godot runs in a separate Debian sid root. Without these, open the folder in your own Godot.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=$root/build/roots/godot out=$folder/out built=$root/build/godot
heed=$(cd "${1:?usage: run.sh BUILD [ARGUMENTS...]}" && pwd)
shift
source "$here/in_godot.sh"

has_window=1 seconds=600 files=() recording= arguments=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --headless) has_window=0 ;;
    --recording)
      recording=$(realpath "$2")
      arguments+=("$1" /recording.wav)
      shift
      ;;
    --png | --log)
      files+=("$(realpath -m "$2")")
      arguments+=("$1" "/out/$(basename "$2")")
      shift
      ;;
    -h | --help) sed -n '2,/^set /s/^# //p' "${BASH_SOURCE[0]}"; exit ;;
    *) arguments+=("$1") ;;
  esac
  shift
done

"$here/get_godot.sh" "$folder"
model=$("$here/../talk/fetch_model.sh")
"$here/../search/fetch_model.sh"
whisper=$("$here/../listen/fetch_model.sh")
mkdir -p "$root/build"
log=$root/build/godot.log
{
  cmake -S "$here" -B "$built" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHEED_GODOT_INTERFACE="$folder/interface" \
    -DHEED_GODOT_HEED="$heed" && cmake --build "$built" --parallel "$(nproc)"
} </dev/null >"$log" 2>&1 || { tail -n 20 "$log" >&2; echo "the add-on cannot be built (all of it: $log)" >&2; exit 1; }
copy_project "$here" "$here/addons/heed/bin/libheed_godot.so"
cp -Lu "$model" "$folder/model.gguf"
mkdir -p "$folder/encoder" "$folder/whisper"
cp -rLu "$root/.cache/all-MiniLM-L6-v2/." "$folder/encoder/"
cp -rLu "$whisper/." "$folder/whisper/"
[[ -z $recording ]] || cp "$recording" "$folder/recording.wav"
arguments=(--model /model.gguf --personas /personas --encoder /encoder --ears /whisper "${arguments[@]}")

if [[ $has_window -eq 1 ]]; then
  : "${DISPLAY:?there is no display: --headless draws under Xvfb}"
  ! [[ -r ${XAUTHORITY:-$HOME/.Xauthority} ]] || cp "${XAUTHORITY:-$HOME/.Xauthority}" "$out/authority"
  exec "$root/tests/drivers/in_root.sh" "$folder" env DISPLAY="$DISPLAY" XAUTHORITY=/out/authority \
    godot --path /project -- "${arguments[@]}"
fi
run_godot "$seconds" -- "${arguments[@]}"
for file in "${files[@]}"; do cp "$out/$(basename "$file")" "$file"; done
