#!/usr/bin/env bash
# Runs the add-on's tests in a root that get_godot.sh made, headless, on a copy of the project.
#   test.sh ROOT LIBRARY MODEL      LIBRARY: libheed_godot.so
set -euo pipefail

folder=${1:?usage: test.sh ROOT LIBRARY MODEL} library=${2:?no library} model=${3:?no model}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
in_root=$here/../../tests/drivers/in_root.sh
project=$folder/project bin=$folder/project/addons/heed/bin

rm -rf "$project"
mkdir -p "$bin" "$project/.godot"
cp "$here/project.godot" "$project/"
cp -r "$here/tests" "$project/"
cp "$here"/addons/heed/*.gdextension "$project/addons/heed/"
cp "$library" "$bin/"
# The root may lack Highway and utf8proc, with which the library is linked, so they are copied beside it.
ldd "$library" | awk '$1 ~ /^lib(hwy|utf8proc)/ { print $3 }' | while read -r needed; do cp -L "$needed" "$bin/"; done
echo 'res://addons/heed/heed.gdextension' >"$project/.godot/extension_list.cfg"
cp -Lu "$model" "$folder/model.gguf"
# Files that are no models: a small one that is cut off in its head, in its middle and near its end, and a folder.
mkdir -p "$folder/hostile/folder.gguf"
small=$here/../../tests/models/llama.gguf
bytes=$(stat -L -c %s "$small")
for part in 0 3 40 "$((bytes / 2))" "$((bytes - 1))"; do head -c "$part" "$small" >"$folder/hostile/$part.gguf"; done
cp "$here/../talk/personas/blacksmith.txt" "$folder/persona.txt"
timeout 200 "$in_root" "$folder" godot --headless --path /project --script tests/speaker.gd -- /model.gguf /hostile /persona.txt \
  </dev/null
