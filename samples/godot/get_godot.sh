#!/usr/bin/env bash
# Makes a Debian sid root with Godot 4 in it, and writes Godot's gdextension_interface.h into FOLDER/interface. Does nothing if
# both are there.
#   get_godot.sh FOLDER
# Needs root rights and debootstrap. Exit code 3: no such root can be made here.
set -euo pipefail

folder=${1:?usage: get_godot.sh FOLDER}
drivers=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../tests/drivers" && pwd)
in_root=$drivers/in_root.sh
log=$folder.godot.log

fail() { tail -n 3 "$log" >&2; echo "$* (all of it: $log)" >&2; exit 3; }
[[ ! -e $folder/interface/gdextension_interface.h ]] || exit 0
"$drivers/clean_root.sh" "$folder" sid
packages=(xvfb xauth libvulkan1 mesa-vulkan-drivers vulkan-validationlayers godot)
"$in_root" "$folder" apt-get install -y --no-install-recommends "${packages[@]}" </dev/null >"$log" 2>&1 ||
  fail "Godot cannot be installed in the root"
mkdir -p "$folder/interface.new"
"$in_root" "$folder" sh -c 'cd /interface.new && godot --headless --dump-gdextension-interface' </dev/null >>"$log" 2>&1 ||
  fail "Godot does not write its interface"
mv "$folder/interface.new" "$folder/interface"
