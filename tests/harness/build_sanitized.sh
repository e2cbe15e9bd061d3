#!/usr/bin/env bash
# Builds heed with address and undefined-behaviour sanitizers, by Clang if it is installed, and with it the tests of another build folder.
#   build_sanitized.sh FOLDER BUILD
set -euo pipefail

folder=${1:?usage: build_sanitized.sh FOLDER BUILD}
build=${2:?usage: build_sanitized.sh FOLDER BUILD}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$folder"
if echo 'int main() {}' | clang++ -fsanitize=address,undefined -x c++ - -o "$folder/sanitized"; then
  compiler=(-DCMAKE_CXX_COMPILER=clang++ -DHEED_WERROR=ON)
else  # with sanitizers GCC 12 warns about its own library
  compiler=(-DHEED_WERROR=OFF)
  echo "SKIPPED: clang++ or its sanitizers are not installed, so nothing was compiled by Clang"
fi
cmake -S "$root" -B "$folder" -G Ninja "${compiler[@]}" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DHEED_PRECOMPILE=OFF -DCMAKE_UNITY_BUILD=ON \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O0 -g1" -DHEED_SANITIZE=address,undefined -DHEED_TESTS_OF="$build"
cmake --build "$folder" --target heed_tests heed_c_tests tour
