#!/usr/bin/env bash
# Builds a release within the root that release.sh makes: the sources lie in /heed, Godot's header in /interface if there is one, and the
# results go to /dist.
#   inside.sh SYSTEM...    SYSTEM: linux-x86_64, linux-aarch64, windows-x86_64. Exit code 3: its tools or sources cannot be had here
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
heed=$(cd "$here/../../.." && pwd)
version=$(sed -n 's/^project(heed VERSION \([0-9.]*\).*/\1/p' "$heed/CMakeLists.txt")
work=/release dist=/dist sources=/release/sources
mkdir -p "$work" "$dist" "$sources"

python3 -m venv "$work/venv"
python=$work/venv/bin/python
"$python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r "$here/requirements.txt" ||
  { echo "SKIPPED: PyPI gives no compiler"; exit 3; }
HEED_ZIG=$(ls "$work"/venv/lib/python3*/site-packages/ziglang/zig)
export HEED_ZIG

(cd "$sources" && apt-get -qq --download-only source zlib utf8proc libzip libsamplerate) || { echo "SKIPPED: Debian gives no sources"; exit 3; }
for package in zlib utf8proc libzip libsamplerate; do
  mkdir -p "$sources/$package"
  tar -xf "$sources/$package"_*.orig.tar.* -C "$sources/$package" --strip-components=1
done
pack() { "$python" "$here/pack.py" "$@"; }

# add_wheel SYSTEM BUILD: the wheel holds no module for one version of Python, so that one serves all.
add_wheel() {
  local system=$1 build=$2 tag stage=$work/wheel-$1 info=$work/wheel-$1/heed_engine-$version.dist-info
  case $system in
    windows-x86_64) tag=win_amd64 ;;
    *) tag=manylinux_2_28_${system#*-} ;;
  esac
  cmake --install "$build" --component python --prefix "$stage"
  cp -r "$heed/engine/python/heed/." "$stage/heed/"
  (cd "$heed/engine/python" && "$python" -c 'import sys
from scikit_build_core.build import prepare_metadata_for_build_wheel
prepare_metadata_for_build_wheel(sys.argv[1])' "$stage")
  printf 'Wheel-Version: 1.0\nGenerator: heed\nRoot-Is-Purelib: false\nTag: py3-none-%s\n' "$tag" >"$info/WHEEL"
  pack licences "$info/licenses" library "$sources" "$HEED_ZIG" "$system"
  "$python" -m wheel pack --dest-dir "$dist" "$stage"
}

# add_library SYSTEM BUILD: the C library and the program
add_library() {
  local system=$1 build=$2 name=heed-$version-$1
  local stage=$work/$name kind=tar.gz end=
  [[ $system != windows-* ]] || kind=zip end=.exe
  cmake --install "$build" --component c --prefix "$stage"
  install -D "$build/samples/heed/heed$end" "$stage/bin/heed$end"
  cp "$here/README.txt" "$stage/"
  pack licences "$stage/share/licenses/heed" library,program "$sources" "$HEED_ZIG" "$system"
  pack archive "$stage" "$dist/$name.$kind"
}

# add_to_addon SYSTEM BUILD
addon=$work/addon/addons/heed
add_to_addon() {
  local system=$1 build=$2 bin=$addon/bin
  case $system in
    windows-x86_64) bin+=/windows ;;
    linux-aarch64) bin+=/arm64 ;;
  esac
  cmake -S "$heed/samples/godot" -B "$work/$system/godot" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_TOOLCHAIN_FILE="$work/$system/toolchain.cmake" -DCMAKE_MODULE_LINKER_FLAGS=-s -DHEED_GODOT_INTERFACE=/interface \
    -DHEED_GODOT_HEED="$build" -DHEED_GODOT_BIN="$bin"
  cmake --build "$work/$system/godot"
  rm -f "$bin"/*.lib "$bin"/*.pdb
}

for system in "$@"; do
  toolchain=$("$here/toolchain.sh" "$work/$system" "$system" "$sources")
  build=$work/$system/heed
  cmake -S "$heed" -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON \
    -DCMAKE_EXE_LINKER_FLAGS=-s -DCMAKE_SHARED_LINKER_FLAGS=-s -DHEED_BUNDLE=ON -DHEED_C_LIBRARY=ON -DHEED_PYTHON=ON -DPython_EXECUTABLE="$python" \
    -DHEED_BUILD_TESTS=OFF -DHEED_BUILD_BENCH=OFF -DHEED_BUILD_SAMPLES=ON -DHEED_CCACHE=OFF -DHEED_WERROR=OFF
  cmake --build "$build" --target heed heed_c_library heed_program heed_ffi
  add_library "$system" "$build"
  add_wheel "$system" "$build"
  if [[ -d /interface ]]; then add_to_addon "$system" "$build"; fi
done

if [[ -d /interface ]]; then
  cp "$heed"/samples/godot/addons/heed/*.gd* "$addon/"
  cp "$heed/LICENSE" "$addon/"
  pack licences "$addon/licenses" library,addon "$sources" "$HEED_ZIG" "$@"
  pack archive "$work/addon/addons" "$dist/heed-$version-godot.zip"
fi
pack describe "$dist" "$version" "$sources" "$HEED_ZIG" "$@"
