#!/usr/bin/env bash
# Builds the add-on for Windows on x86-64 (MinGW) and Linux on 64-bit Arm, into the folders of addons/heed/bin that heed.gdextension names;
# each is one file. Prints its size, and fails if it needs other libraries than such a system has, or exports more than its entry.
#   cross.sh INTERFACE [windows] [arm64]     default: both; INTERFACE: a folder with Godot's gdextension_interface.h
# tests/drivers/windows.sh and aarch64.sh build or unpack the linked libraries into build/windows and build/aarch64.
# HEED_JOBS is the number of parallel compilers.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
interface=$(cd "${1:?usage: cross.sh INTERFACE [windows] [arm64]}" && pwd)
shift
[[ $# -gt 0 ]] || set -- windows arm64

fail() { echo "cross.sh: $*" >&2; exit 1; }

# build SYSTEM TOOLCHAIN OPTIONS...
build() {
  local folder=$root/build/godot-$1 log=$root/build/godot-$1.log
  mkdir -p "$root/build"
  {
    cmake -S "$here" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE="$2" -DHEED_BUNDLE=ON \
      -DHEED_GODOT_INTERFACE="$interface" -DHEED_GODOT_BIN="$here/addons/heed/bin/$1" -DHEED_BUILD_TESTS=OFF \
      -DHEED_BUILD_SAMPLES=OFF "${@:3}" &&
      cmake --build "$folder" --target heed_godot --parallel "${HEED_JOBS:-$(nproc)}"
  } >"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "the add-on for $1 cannot be built (all of it: $log)"; }
}

# check FILE NEEDED SHOWN ALLOWED: checks the needed libraries and the exported symbols; ALLOWED: a pattern of libraries.
check() {
  local file=$1 needed=$2 shown=$3 allowed=$4 more
  [[ -n $needed ]] || fail "$file seems to need nothing"
  more=$(grep -vE "$allowed" <<<"$needed" || true)
  [[ -z $more ]] || fail "$file needs $(tr '\n' ' ' <<<"$more")"
  [[ $shown == heed_godot_init ]] || fail "$file shows $(head -n 5 <<<"$shown" | tr '\n' ' '), and should show heed_godot_init alone"
  echo "$file: $(stat -c %s "$file") bytes; needs $(tr '\n' ' ' <<<"$needed")"
}

for system in "$@"; do
  "$root/tests/drivers/install.sh" cross
  case $system in
    windows)
      toolchain=$("$root/tests/drivers/windows.sh" "$root/build/windows" library)
      # For Windows the linker accepts no library with undefined symbols.
      build windows "$toolchain" "-DCMAKE_MODULE_LINKER_FLAGS=-static -s"
      file=$here/addons/heed/bin/windows/heed_godot.dll
      tables=$(x86_64-w64-mingw32-objdump -p "$file")
      # Every Windows since version 7 has these libraries.
      check "$file" "$(sed -n 's/^[[:space:]]*DLL Name: //p' <<<"$tables" | sort -u)" \
        "$(sed -n '/Ordinal\/Name Pointer/,/^$/p' <<<"$tables" | awk '/\[ *[0-9]+\]/ { print $NF }')" '^(KERNEL32|ADVAPI32|USER32|msvcrt)\.dll$'
      ;;
    arm64)
      toolchain=$("$root/tests/drivers/aarch64.sh" "$root/build/aarch64" library)
      build arm64 "$toolchain" "-DCMAKE_MODULE_LINKER_FLAGS=-Wl,--no-undefined -s"
      file=$here/addons/heed/bin/arm64/libheed_godot.so
      check "$file" "$(aarch64-linux-gnu-readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')" \
        "$(aarch64-linux-gnu-nm -D --defined-only "$file" | awk '{ print $NF }')" '^(ld-linux-aarch64\.so\.1|lib(c|m|dl|pthread|gcc_s|stdc\+\+)\.so\.[0-9]+)$'
      ;;
    *) fail "there is no $system" ;;
  esac
done
