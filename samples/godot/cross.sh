#!/usr/bin/env bash
# Builds the add-on for Windows on x86-64 (MinGW) and Linux on 64-bit Arm, into folders of addons/heed/bin, as heed.gdextension names them.
#   cross.sh INTERFACE [windows] [arm64]     both if none is named; INTERFACE: a folder with Godot's gdextension_interface.h
# What the libraries need is built or unpacked into build/windows and build/aarch64 by tests/drivers/windows.sh and aarch64.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
interface=$(cd "${1:?usage: cross.sh INTERFACE [windows] [arm64]}" && pwd)
shift
[[ $# -gt 0 ]] || set -- windows arm64

build() {
  local folder=$root/build/godot-$1 toolchain=$2
  shift 2
  cmake -S "$here" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
    -DHEED_GODOT_INTERFACE="$interface" -DHEED_GODOT_BIN="$here/addons/heed/bin/$system" -DHEED_BUILD_TESTS=OFF -DHEED_BUILD_SAMPLES=OFF "$@" >/dev/null
  cmake --build "$folder" --target heed_godot
}

for system in "$@"; do
  case $system in
    windows)
      "$root/tests/drivers/install.sh" windows
      build windows "$("$root/tests/drivers/windows.sh" "$root/build/windows")" -DCMAKE_MODULE_LINKER_FLAGS=-static
      ls -l "$here/addons/heed/bin/windows/heed_godot.dll"
      ;;
    arm64)
      build arm64 "$("$root/tests/drivers/aarch64.sh" "$root/build/aarch64")"
      # Highway and utf8proc of that system go beside it, where the library looks for them.
      find "$root/build/aarch64/root" \( -name 'libhwy.so.*' -o -name 'libutf8proc.so.*' \) -exec cp -L {} "$here/addons/heed/bin/arm64/" \;
      ls -l "$here/addons/heed/bin/arm64/libheed_godot.so"
      ;;
    *) echo "cross.sh: there is no $system" >&2; exit 2 ;;
  esac
done
