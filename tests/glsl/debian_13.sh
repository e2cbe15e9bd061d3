#!/usr/bin/env bash
# Builds heed::shaderc and its tests with Debian 13's libshaderc, since that of Debian 12 does not link. Makes the
# program FOLDER/build/heed_glsl_tests for with.sh's lavapipe-26, whose libraries are Debian 13's, and prints its name.
#   debian_13.sh HEED_BUILD FOLDER
# HEED_BUILD: a folder in which heed was built as a static library. Exit code 3: the libraries are not available.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:?usage: debian_13.sh HEED_BUILD FOLDER}" && pwd)
mkdir -p "${2:?usage: debian_13.sh HEED_BUILD FOLDER}"
folder=$(cd "$2" && pwd)
export HEED_DRIVER_FOLDER=${HEED_DRIVER_FOLDER:-$build/drivers}

"$here/../drivers/with.sh" lavapipe-26 true >&2 || exit 3
library=$(find -L "$HEED_DRIVER_FOLDER/debian-13/usr/lib" -name libshaderc.so.1 | head -n 1)
[[ -n $library ]] || { echo "Debian 13's packages have no libshaderc.so.1" >&2; exit 3; }

rm -rf "$folder/heed"
cmake --install "$build" --prefix "$folder/heed" >"$folder/install.log"
# The library needs a newer C library than the linker's. It is present when the program runs.
cmake -S "$here" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$folder/heed" \
  -DHEED_SHADERC_LIBRARY="$library" -DCMAKE_EXE_LINKER_FLAGS=-Wl,--allow-shlib-undefined >"$folder/configure.log"
cmake --build "$folder/build" >"$folder/build.log" || { tail -n 30 "$folder/build.log" >&2; exit 1; }
echo "$folder/build/heed_glsl_tests"
