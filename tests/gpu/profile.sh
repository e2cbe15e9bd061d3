#!/usr/bin/env bash
# Counts what heed's kernels, and those of ggml's Vulkan backend, do for the same works on GPUs of five makers that are not here,
# and prints tables with the least time by published figures of such GPUs: see tests/gpu/profile/README.md.
#
#   tests/gpu/profile.sh [--update] [--heed] [navi31] [ga102] [h100] [m1] [a740] [dg2] [bmg] [WORK...]
#     WORK     a name in tests/gpu/profile/works.cpp, or the beginning of some, "product f16"; default: all of them, on all but dg2 and bmg
#     h100     the kernels that heed chooses for an H100 with NVIDIA's driver, compiled for ga102; without ggml's
#     dg2, bmg Intel's Arc A770 and B580; without ggml's
#     --update writes tests/gpu/profile/TARGET.csv, for all works; with --heed it keeps ggml's rows
#     --heed   leaves ggml out
#
# Needs a build (build/tests/heed_profile, or HEED_BUILD). Fetches Mesa and ggml from Debian sid into build/drivers/sid; installs
# nothing. A layer writes ggml's dispatches down and executes nothing. All works take an hour of a processor; one work takes
# a minute at most. Exit code 3 if Mesa or ggml cannot be fetched.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${HEED_BUILD:-$root/build}
program=$build/tests/heed_profile
with=$root/tests/drivers/with.sh
update=0 peer=1
targets=() works=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --update) update=1 ;;
    --heed) peer=0 ;;
    navi31 | ga102 | h100 | m1 | a740 | dg2 | bmg) targets+=("$1") ;;
    -*) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    *) works+=("$1") ;;
  esac
  shift
done
[[ ${#targets[@]} -gt 0 ]] || targets=(navi31 ga102 h100 m1 a740)
[[ -x $program ]] || { echo "no $program; build its target heed_profile first" >&2; exit 2; }

# shellcheck source=tests/gpu/peer/sid.sh
source "$root/tests/gpu/peer/sid.sh"
unpack_sid || exit 3
out=$build/profile
mkdir -p "$out"

if [[ $peer -eq 1 ]]; then
  here=$root/tests/gpu/peer
  g++ -std=c++20 -O2 -fPIC -shared -I"$root/tests" "$here/layer.cpp" "$here/trace.cpp" -o "$out/libheed_peer.so" &&
    build_ggml_work "$out/ggml_work" || exit 1
  cp "$here/layer.json" "$out"
fi

# count TARGET ROWS ENGINE...: writes the counts of heed_profile, with the columns of loops.py.
count() {
  local target=$1 rows=$2 driver=$1 options=() listings=$out/listings-$1 HEED_DEBIAN_ROOT=$HEED_DEBIAN_ROOT
  shift 2
  if [[ $target == h100 ]]; then driver=ga102 options=(--nvidia 132); fi
  # loops.py reads the assembly that ANV of Debian 13's backports prints; sid's prints another one.
  if [[ $target == dg2 || $target == bmg ]]; then HEED_DEBIAN_ROOT=; fi
  rm -rf "$listings"
  mkdir -p "$listings"
  "$with" "null-$driver" "$program" "${options[@]}" --listings "$listings" "$target" "$@" >"$rows" 2>>"$out/$target.log" &&
    python3 "$root/tests/gpu/loops.py" add "$rows" "$listings"
}

# append FILE ROWS: appends rows that have their own header.
append() { if [[ -s $1 ]]; then tail -n +2 "$2" >>"$1"; else cp "$2" "$1"; fi; }

# run_peer TARGET WORK FILE: runs the work in ggml under the layer, and counts its dispatches.
run_peer() {
  local trace=$out/trace-$1 status=0
  rm -rf "$trace"
  mkdir -p "$trace"
  HEED_PEER_TRACE=$trace HEED_LAYER=$out:VK_LAYER_HEED_peer timeout 120 "$with" "null-$1" "$out/ggml_work" \
    "$libraries/ggml/backends0" "$2" >>"$out/$1.log" 2>&1 || status=$?
  if [[ $status -eq 0 ]]; then
    count "$1" "$out/$1-row.csv" ggml "$trace" "$2" && append "$3" "$out/$1-row.csv" || status=1
  fi
  rm -rf "$trace"
  [[ $status -eq 0 ]] || echo "no rows of ggml for '$2' on $1 ($out/$1.log)" >&2
}

failed=0
for target in "${targets[@]}"; do
  file=$out/$target.csv
  rm -f "$file" "$out/$target.log"
  count "$target" "$out/$target-heed.csv" heed "${works[@]}" || { failed=1; tail -n 3 "$out/$target.log" >&2; }
  append "$file" "$out/$target-heed.csv"
  if [[ $peer -eq 0 && $update -eq 1 ]]; then
    grep -s ",ggml," "$root/tests/gpu/profile/$target.csv" >>"$file"
  elif [[ $peer -eq 1 && $target != h100 && $target != dg2 && $target != bmg ]]; then
    while read -r work; do run_peer "$target" "$work" "$file"; done < <(
      tail -n +2 "$out/$target-heed.csv" | cut -d, -f3 | grep -v '^training\|^whisper' | uniq)
  fi
  [[ $update -eq 0 ]] || cp "$file" "$root/tests/gpu/profile/$target.csv"
  python3 "$root/tests/gpu/profile/table.py" "$file"
done
exit $failed
