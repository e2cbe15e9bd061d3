#!/usr/bin/env bash
# Builds a program of tests/bench/CMakeLists.txt: build.sh FOLDER TARGET
# A folder that is configured already keeps its tests and samples. A new one has neither, and needs none of their dependencies.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$1 target=$2
fresh=()
[[ -f $folder/build.ninja || -f $folder/Makefile ]] || fresh=(-DHEED_BUILD_TESTS=OFF -DHEED_BUILD_SAMPLES=OFF)
cmake -S "$root" -B "$folder" -DCMAKE_BUILD_TYPE=Release -DHEED_BUILD_BENCH=ON "${fresh[@]}"
cmake --build "$folder" --target "$target" --parallel "$(nproc)"
