#!/usr/bin/env bash
# Tests what engine/packaging/release.sh made: each file is unpacked or installed where there is nothing else of heed, and used there.
#   release.sh --make FOLDER [SYSTEM...]    makes the files anew
#   release.sh FOLDER [PART...]             PART: files, linux, arm64, windows, wheels, arm64-wheel, addon; default: all
# files        checksums, the SPDX list, sizes, and that no file needs more than the C library
# linux        in a clean root of Debian 12: a program in C, heed's goldens and the wheel, on the CPU and on lavapipe
# arm64        the same by qemu-user, on the CPU
# windows      the same under Wine, on the CPU and on lavapipe
# wheels       tests/python in new virtual environments in clean roots of Debian 12, 13 and sid
# arm64-wheel  Debian's Python for 64-bit Arm by qemu-user
# addon        the tests of samples/godot, in a root with Godot
# source       the README's first command, in a clean root of Debian 12
# Needs root rights, debootstrap, and Debian's mirror. A part whose tools cannot be had is SKIPPED; exit code 3: all were.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
drivers=$root/tests/drivers
if [[ ${1:-} == --make ]]; then
  rm -rf "${2:?no folder}"
  exec "$root/engine/packaging/release.sh" "${@:2}"
fi
dist=$(cd "${1:?usage: release.sh FOLDER [PART...]}" && pwd) || exit 2
shift
[[ $# -gt 0 ]] || set -- files linux arm64 windows wheels arm64-wheel addon source
work=$root/build/release-test
mkdir -p "$work"
failed=0 checked=0

fail() { echo "FAIL $*"; failed=1; }
skip() { echo "SKIPPED $*"; }
# step WHAT COMMAND...: prints "ok WHAT" or the end of the output
step() {
  local what=$1 log=$work/log begin=$SECONDS code=0
  shift
  checked=1
  "$@" </dev/null >"$log" 2>&1 || code=$?
  if [[ $code -eq 0 ]]; then
    echo "ok $what, $((SECONDS - begin)) s: $(grep -aE 'passed|^token 0' "$log" | tail -n 1)"
  else
    tail -n 20 "$log"
    fail "$what (exit code $code)"
  fi
}
# one_file PATTERN: prints the only file of the release with such a name
one_file() {
  local files=("$dist"/$1)
  [[ ${#files[@]} -eq 1 && -e ${files[0]} ]] || return 1
  echo "${files[0]}"
}
# most FILE BYTES
most() { [[ $(stat -c %s "$1") -le $2 ]] || fail "$(basename "$1") has $(stat -c %s "$1") bytes, and should have at most $2"; }

# The program that the page on C shows.
program=$work/program.c
awk '/^```c$/ { on = 1; next } /^```$/ { if (on) exit } on' "$root/include/heed/c/README.md" >"$program"
goldens=("$root"/tests/goldens/*_toy.safetensors)

# A virtual environment with tools that know these formats.
tools() {
  local venv=$work/venv
  [[ -x $venv/bin/pyspdxtools ]] ||
    { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check spdx-tools auditwheel twine; }
}

check_files() {
  step "checksums" sh -c 'cd "$0" && sha256sum --check --strict SHA256SUMS' "$dist"
  [[ $(wc -l <"$dist/SHA256SUMS") -eq $(($(find "$dist" -type f | wc -l) - 1)) ]] || fail "SHA256SUMS does not list every file"
  tools || { fail "no tools from PyPI"; return; }
  step "the SPDX list" "$work/venv/bin/pyspdxtools" -i "$(one_file '*.spdx.json')"
  step "the wheels' descriptions" "$work/venv/bin/twine" check --strict "$dist"/*.whl
  local wheel name tag
  for wheel in "$dist"/*.whl; do
    name=$(basename "$wheel")
    most "$wheel" 6000000
    [[ $name != *win_amd64.whl ]] || continue
    tag=$("$work/venv/bin/auditwheel" show "$wheel" | tr '\n' ' ' | sed -n 's/.*consistent with the following platform tag: "\([a-z0-9_]*\)".*/\1/p')
    if [[ $tag =~ ^manylinux_2_([0-9]+)_ && ${BASH_REMATCH[1]} -le 28 ]]; then
      echo "ok $name needs no newer glibc than $tag"
    else
      fail "$name needs ${tag:-other libraries}"
    fi
  done
  ! wheel=$(one_file '*-godot.zip') || most "$wheel" 25000000
}

# unpack KIND: unpacks the library's archive for a system, and prints the folder
unpack() {
  local file folder=$work/$1
  file=$(one_file "heed-*-$1.*") || return 1
  rm -rf "$folder" && mkdir -p "$folder"
  case $file in
    *.zip) python3 -m zipfile -e "$file" "$folder" ;;
    *) tar -xzf "$file" -C "$folder" ;;
  esac
  echo "$folder"/heed-*
}

# make_base WHO: a clean root in $base
base=$work/base
make_base() {
  rm -rf --one-file-system "$base"
  "$drivers/clean_root.sh" "$base" bookworm >"$work/root.log" 2>&1 || { skip "$1: $(tail -n 1 "$work/root.log")"; return 1; }
}
trap 'rm -rf --one-file-system "$base"' EXIT

check_linux() {
  make_base linux || return
  mkdir -p "$base/goldens"
  tar -xzf "$(one_file 'heed-*-linux-x86_64.tar.gz')" -C "$base" && mv "$base"/heed-*/ "$base/heed" || { fail "linux: no archive"; return; }
  cp "$program" "$base/program.c"
  cp "$here/wheel.py" "$(one_file 'heed_engine-*manylinux*_x86_64.whl')" "$base/"
  cp "${goldens[@]}" "$base/goldens/"
  step "linux: heed's program" "$drivers/in_root.sh" "$base" sh -c '/heed/bin/heed verify --device cpu /goldens/*'
  step "linux: pkg-config, gcc" "$drivers/in_root.sh" "$base" sh -ec 'apt-get -q update && apt-get -q install -y --no-install-recommends pkg-config mesa-vulkan-drivers libvulkan1
    export PKG_CONFIG_PATH=/heed/lib/pkgconfig LD_LIBRARY_PATH=/heed/lib
    gcc -std=c99 -Wall -Werror -o /program /program.c $(pkg-config --cflags --libs heed) && /program cpu'
  step "linux: lavapipe" "$drivers/in_root.sh" "$base" sh -ec 'LD_LIBRARY_PATH=/heed/lib /program llvmpipe && /heed/bin/heed verify --device all /goldens/*'
  step "linux: the wheel" "$drivers/in_root.sh" "$base" sh -ec 'apt-get -q install -y --no-install-recommends python3-venv
    python3 -m venv /venv && /venv/bin/pip install --quiet --disable-pip-version-check /*.whl
    /venv/bin/python /wheel.py cpu && /venv/bin/python /wheel.py llvmpipe'
}

check_arm64() {
  local folder
  "$drivers/install.sh" all-tests || { skip "arm64: no emulator"; return; }
  folder=$(unpack linux-aarch64) || { fail "arm64: no archive"; return; }
  local run=(qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu)
  step "arm64: heed's program" "${run[@]}" "$folder/bin/heed" verify --device cpu "${goldens[@]}"
  step "arm64: gcc" sh -ec 'aarch64-linux-gnu-gcc -std=c99 -Wall -Werror -I"$1/include" -o "$2" "$3" -L"$1/lib" -lheed
    shift 3 && "$@"' sh "$folder" "$work/program-arm64" "$program" "${run[@]}" -E "LD_LIBRARY_PATH=$folder/lib" "$work/program-arm64" cpu
}

check_windows() {
  local folder
  "$drivers/install.sh" windows || { skip "windows: no Wine"; return; }
  folder=$(unpack windows-x86_64) || { fail "windows: no archive"; return; }
  local wine=("$root/tests/harness/under_wine.sh" "$work/wine")
  step "windows: heed's program" "${wine[@]}" "$folder/bin/heed.exe" verify --device cpu "${goldens[@]/#/Z:}"
  step "windows: gcc" sh -ec 'x86_64-w64-mingw32-gcc-posix -std=c99 -Wall -Werror -I"$1/include" -o "$1/bin/program.exe" "$2" "$1/lib/heed.lib"
    shift 2 && "$@"' sh "$folder" "$program" "${wine[@]}" "$folder/bin/program.exe" cpu
  # Wine's Vulkan needs a display from the start.
  step "windows: lavapipe" xvfb-run -a "$drivers/with.sh" lavapipe "${wine[@]:0:1}" "$work/wine-window" "$folder/bin/program.exe" llvmpipe
  # Every Windows has these libraries; api-ms-win-crt is its C library.
  local needed
  needed=$(x86_64-w64-mingw32-objdump -p "$folder"/bin/heed.dll | sed -n 's/^[[:space:]]*DLL Name: //p' | grep -vxiE '(kernel32|advapi32|user32|ntdll|api-ms-win-crt-[a-z0-9-]+)\.dll')
  [[ -z $needed ]] || fail "windows: heed.dll needs $needed"
  needed=$(x86_64-w64-mingw32-objdump -p "$folder"/bin/heed.dll | sed -n '/Ordinal\/Name Pointer/,/^$/p' | awk '/\[ *[0-9]+\]/ { print $NF }' | sort)
  [[ $needed == "$(sed -n 's/^HEED_C(\(.*\))$/\1/p' "$root/tests/c/functions.inc" | sort)" ]] || fail "windows: heed.dll does not export the C interface alone"
  python3 - "$folder/bin/heed.dll" "$(one_file '*win_amd64.whl')" <<'PYTHON' || fail "windows: the wheel's library is another one"
import sys, zipfile
sys.exit(open(sys.argv[1], "rb").read() != zipfile.ZipFile(sys.argv[2]).read("heed/heed.dll"))
PYTHON
}

check_wheels() {
  checked=1
  "$drivers/roots.sh" wheel "$(one_file '*manylinux*_x86_64.whl')" 12 13 sid || failed=1
}

check_arm64_wheel() {
  local folder=$work/arm64-python wheel
  wheel=$(one_file '*manylinux*_aarch64.whl') || { fail "arm64: no wheel"; return; }
  "$drivers/install.sh" all-tests && HEED_ARCHITECTURE=arm64 "$drivers/debian_root.sh" "$folder" bookworm "python3-numpy python3-cffi" ||
    { skip "arm64-wheel: no Python for that architecture"; return; }
  rm -rf "$work/arm64-wheel"
  python3 -m zipfile -e "$wheel" "$work/arm64-wheel"
  step "arm64: the wheel" qemu-aarch64 -cpu max -L "$folder" -E "PYTHONPATH=$work/arm64-wheel:$folder/usr/lib/python3/dist-packages" -E PYTHONHOME="$folder/usr" \
    -E "LD_LIBRARY_PATH=$folder/usr/lib/aarch64-linux-gnu:$folder/usr/lib/aarch64-linux-gnu/blas:$folder/usr/lib/aarch64-linux-gnu/lapack" \
    "$folder/usr/bin/python3" "$here/wheel.py" cpu
}

check_addon() {
  local folder=$work/addon godot=$root/build/roots/godot smollm2 minilm=$root/.cache/all-MiniLM-L6-v2 whisper
  "$drivers/install.sh" roots && "$root/samples/godot/get_godot.sh" "$godot" || { skip "addon: no Godot"; return; }
  rm -rf "$folder" && mkdir -p "$folder"
  python3 -m zipfile -e "$(one_file '*-godot.zip')" "$folder" || { fail "addon: no archive"; return; }
  diff -r -x bin -x licenses -x LICENSE "$folder/addons/heed" "$root/samples/godot/addons/heed" || fail "addon: the archive is another one"
  local library
  while read -r library; do
    [[ -s $folder/addons/heed/$library ]] || fail "addon: heed.gdextension names $library, which is not there"
  done < <(sed -n 's/^[a-z]*\.[a-z0-9_]* = "\(.*\)"$/\1/p' "$folder/addons/heed/heed.gdextension")
  smollm2=$("$root/samples/talk/fetch_model.sh") && "$root/samples/search/fetch_model.sh" && whisper=$("$root/samples/listen/fetch_model.sh") ||
    { skip "addon: no models"; return; }
  step "the add-on in Godot" "$root/samples/godot/test.sh" "$godot" "$folder/addons/heed/bin/libheed_godot.so" "$smollm2" "$minilm" "$whisper"
}

check_source() {
  make_base source || return
  mkdir "$base/heed"
  tar -xzf "$(one_file '*-source.tar.gz')" -C "$base/heed" --strip-components=1 || { fail "source: no archive"; return; }
  step "the sources" "$drivers/in_root.sh" "$base" sh -ec '/heed/samples/run.sh && /heed/samples/run.sh heed verify --device all /heed/tests/goldens/*_toy.safetensors'
}

for part in "$@"; do
  case $part in
    files | linux | arm64 | windows | wheels | arm64-wheel | addon | source) "check_${part//-/_}" ;;
    *) echo "release.sh: there is no part $part" >&2; exit 2 ;;
  esac
done
[[ $failed -eq 0 ]] || exit 1
[[ $checked -eq 1 ]] || exit 3
