#!/usr/bin/env bash
# Makes a Debian sid root with Godot 4, and writes Godot's gdextension_interface.h into FOLDER/interface. Does nothing if
# both exist.
#   get_godot.sh FOLDER
# Needs root rights and debootstrap. Exit code 3: no such root can be made here.
set -euo pipefail

folder=${1:?usage: get_godot.sh FOLDER}
drivers=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../tests/drivers" && pwd)
in_root=$drivers/in_root.sh
log=$folder.godot.log

fail() { tail -n 3 "$log" >&2; echo "$* (all of it: $log)" >&2; exit 3; }
[[ ! -e $folder/interface/gdextension_interface.h ]] || exit 0
if [[ -e $folder ]] && ! rmdir "$folder" 2>/dev/null; then
  echo "$folder is there already, and is no root with Godot's interface in it" >&2
  exit 3
fi
# Made under another name, so that an interrupted run does not block the next.
fresh=$folder.new
rm -rf --one-file-system "$fresh"
"$drivers/clean_root.sh" "$fresh" sid
packages=(xvfb xauth libvulkan1 mesa-vulkan-drivers vulkan-validationlayers godot)
"$in_root" "$fresh" apt-get install -y --no-install-recommends "${packages[@]}" </dev/null >"$log" 2>&1 ||
  fail "Godot cannot be installed in the root"
mkdir -p "$fresh/interface"
"$in_root" "$fresh" sh -c 'cd /interface && godot --headless --dump-gdextension-interface' </dev/null >>"$log" 2>&1 ||
  fail "Godot does not write its interface"
mv "$fresh" "$folder"
