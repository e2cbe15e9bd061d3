#!/usr/bin/env bash
# Builds the library with the compilers that Debian packages, in clean roots; warnings are errors. Prints the seconds
# of each: about ten minutes of a processor in total. Compiles each file alone, which finds missing includes.
#   compilers.sh [COMPILER...]    such as g++-14 or clang++-19; default: all that are listed below
# Needs what roots.sh needs. Exit code 3: nothing could be built here, because roots or packages are not available. Debian has no Clang 20.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# The Debian release of each compiler, which also determines the C++ library, Highway and Vulkan's headers.
declare -A compilers_of=(
  [bookworm]="g++-12 clang++-14 clang++-15 clang++-16"
  [trixie]="g++-13 g++-14 clang++-17 clang++-18 clang++-19"
  [sid]="g++-15 g++-16 clang++-21"
)
wanted=" $* "
all=" ${compilers_of[*]} "
for compiler in "$@"; do
  [[ $all == *" $compiler "* ]] || { sed -n '2,/^set /s/^# //p' "${BASH_SOURCE[0]}" >&2; echo "listed:$all" >&2; exit 2; }
done
is_wanted() { [[ $wanted == "  " || $wanted == *" $1 "* ]]; }

[[ $(id -u) -eq 0 ]] || { echo "no root rights, so no clean root" >&2; exit 3; }
"$here/install.sh" roots || exit 3
folder=$root/build/roots
mkdir -p "$folder"
trap 'rm -rf --one-file-system "$folder/compilers"' EXIT
in_root() { "$here/in_root.sh" "$folder/compilers" env DEBIAN_FRONTEND=noninteractive "$@" </dev/null; }
install() { in_root apt-get -qq -y --no-install-recommends install "$@"; }

failed=0 built=0
# check SUITE COMPILER
check() {
  local suite=$1 compiler=$2 log=$folder/compiler-$2.log seconds=$SECONDS
  local options=(-DCMAKE_BUILD_TYPE=Release -DHEED_WERROR=ON -DHEED_BUILD_TESTS=OFF -DHEED_BUILD_SAMPLES=OFF
    -DHEED_PRECOMPILE=OFF)
  if ! install "${compiler/clang++/clang}" >"$log" 2>&1; then
    echo "SKIPPED $compiler: $suite does not have it any more ($log)"
  elif in_root cmake -S /heed -B "/build-$compiler" -G Ninja "${options[@]}" "-DCMAKE_CXX_COMPILER=$compiler" >>"$log" 2>&1 &&
    in_root cmake --build "/build-$compiler" >>"$log" 2>&1; then
    built=$((built + 1))
    echo "ok $compiler of $suite, $((SECONDS - seconds)) s"
  else
    failed=1
    grep -a -E 'error:|warning:' "$log" | sort -u | head -n 20
    echo "FAIL $compiler of $suite (all of it: $log)"
  fi
  rm -rf "$folder/compilers/build-$compiler"
}

for suite in bookworm trixie sid; do
  chosen=()
  for compiler in ${compilers_of[$suite]}; do if is_wanted "$compiler"; then chosen+=("$compiler"); fi; done
  [[ ${#chosen[@]} -gt 0 ]] || continue
  rm -rf --one-file-system "$folder/compilers"
  if ! "$here/clean_root.sh" "$folder/compilers" "$suite" ||
    ! in_root apt-get -qq update >"$folder/compilers.log" 2>&1 ||
    ! install cmake ninja-build libvulkan-dev nlohmann-json3-dev libutf8proc-dev zlib1g-dev libhwy-dev libprotozero-dev >>"$folder/compilers.log" 2>&1; then
    echo "SKIPPED ${chosen[*]}: no root of $suite with what the library needs ($folder/compilers.log)"
    continue
  fi
  git clone --quiet --no-hardlinks "$root" "$folder/compilers/heed" || exit 1
  for compiler in "${chosen[@]}"; do check "$suite" "$compiler"; done
done
[[ $failed -eq 0 && $built -eq 0 ]] && exit 3
exit $failed
