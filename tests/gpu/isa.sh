#!/usr/bin/env bash
# Compiles every kernel that heed would choose on GPUs of several makers with Mesa's compilers for them, which need no
# such GPU, and compares registers, spills, occupancy and instructions with the table tests/gpu/families.csv; see families.py.
#
#   tests/gpu/isa.sh [amd] [nvidia] [intel] [apple] [qualcomm]   these makers, or all. Writes a row for each kernel: build/isa/CHIP.csv
#   tests/gpu/isa.sh ... --one        compiles a third of each family for one chip of each maker, instead of one of each
#                                     generation; missing kernels are detected nevertheless.
#                                     For Intel, whose compiler is slow, always compiles an eighteenth
#   tests/gpu/isa.sh ... --update     writes the table
#   tests/gpu/isa.sh ... --against COMMIT   builds that commit, and compares kernel by kernel and family by family
#   tests/gpu/isa.sh ... --assembly FOLDER  also writes the assembly of every kernel there
#
# Needs a build (build/tests/heed_pipelines and heed_warm_start, or HEED_BUILD). Fetches two versions of Mesa from
# Debian into build/drivers: 25.0.7, whose RADV (AMD) works without hardware, and the newest, with shims for
# kernel drivers: RADV, NVK (NVIDIA), ANV (Intel), Honeykrisp (Apple) and Turnip (Qualcomm). For amd it also times
# a second start with the pipeline cache of the first. Exit code 3 if the drivers cannot be fetched.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${HEED_BUILD:-$root/build}
export HEED_DRIVER_FOLDER=${HEED_DRIVER_FOLDER:-$root/build/drivers}
drivers=$HEED_DRIVER_FOLDER
program=$build/tests/heed_pipelines
warm_start=$build/tests/heed_warm_start
rows=$build/isa
table=$root/tests/gpu/families.csv
makers=() one=0 update=0 assembly= commit=
while [[ $# -gt 0 ]]; do
  case $1 in
    amd | nvidia | intel | apple | qualcomm) makers+=("$1") ;;
    --one) one=1 ;;
    --update) update=1 ;;
    --against) commit=$(git -C "$root" rev-parse --verify "${2:?usage: isa.sh --against COMMIT}^{commit}") && shift || exit 2 ;;
    --assembly) assembly=${2:?usage: isa.sh --assembly FOLDER} && mkdir -p "$assembly" && shift ;;
    *) echo "unknown argument '$1'; see the head of this file" >&2; exit 2 ;;
  esac
  shift
done
[[ ${#makers[@]} -gt 0 ]] || makers=(amd nvidia intel apple qualcomm)
[[ $one -eq 0 || $update -eq 0 ]] || { echo "--update needs all kernels, and --one compiles a third" >&2; exit 2; }
[[ -x $program && -x $warm_start ]] || { echo "no $program; build heed first" >&2; exit 2; }

# --- Drivers ------------------------------------------------------------------------------------------------------------

# The programs use the system's C library, and the unpacked root's other libraries.
left_out="libc6 libgcc-s1 gcc-12-base libstdc++6"
fetch() { "$root/tests/drivers/debian_root.sh" "$drivers/$1" "$2" "mesa-vulkan-drivers libvulkan1" "$left_out" || exit 3; }

radv() {  # radv mesa-25 FAMILY COMMAND...
  local family=$2 icd
  icd=$("$root/tests/drivers/icd.sh" "$drivers/$1" radeon) || return
  shift 2
  env -u VK_INSTANCE_LAYERS -u VK_LOADER_LAYERS_ENABLE LD_LIBRARY_PATH="${icd%/*}" VK_ICD_FILENAMES="$icd" \
    VK_DRIVER_FILES="$icd" VK_LOADER_LAYERS_DISABLE='*' NODEVICE_SELECT=1 MESA_SHADER_CACHE_DISABLE=true \
    RADV_FORCE_FAMILY="$family" "$@"
}

run_on() {  # run_on MESA-CHIP COMMAND...
  local name=$1
  shift
  case $name in
    mesa-26-*) "$root/tests/drivers/with.sh" "null-${name#mesa-26-}" "$@" ;;
    *) radv "${name%-*}" "${name##*-}" "$@" ;;
  esac 2> >(grep -v -e 'not a recognized processor' -e 'not a conformant' -e 'invalid pci' -e 'Unknown DRM_IOCTL' >&2)
}

# Compilers of one maker, as MESA-CHIP: one chip of each generation with different instructions.
compilers_of() {
  case $1 in
    amd)
      if [[ $one -eq 1 ]]; then echo mesa-26-navi31; else printf '%s\n' mesa-25-vega10 mesa-26-{navi21,navi31,gfx1201}; fi
      ;;
    nvidia) echo mesa-26-ga102 ;;
    intel) if [[ $one -eq 1 ]]; then echo mesa-26-bmg; else printf '%s\n' mesa-26-{bmg,dg2,tgl}; fi ;;
    apple) echo mesa-26-m1 ;;
    qualcomm) echo mesa-26-a740 ;;
  esac
}

# --- Rows ---------------------------------------------------------------------------------------------------------------

is_sampled() { [[ $one -eq 1 || $1 == *-bmg || $1 == *-dg2 || $1 == *-tgl ]]; }

# compile PROGRAM FOLDER MESA-CHIP: writes FOLDER/MESA-CHIP.csv, with a row for each kernel, or no file if a kernel does not compile.
compile() {
  local file=$2/$3.csv part listings=${assembly:-$2/$3}
  mkdir -p "$listings"
  : >"$file"
  for ((part = 0; ; part++)); do
    run_on "$3" "$1" "$3" "$listings" "$part" $(is_sampled "$3" && echo sample) >"$file.part" ||
      { rm -f "$file" "$file.part"; return; }
    [[ -s $file.part ]] || break
    cat "$file.part" >>"$file"
  done
  "$root/tests/gpu/loops.py" add "$file" "$listings" || rm -f "$file"
  rm -rf "$file.part" "$2/${3:?}"
}

compile_all() {  # compile_all PROGRAM FOLDER
  local maker name failed=0
  mkdir -p "$2"
  rm -f "$2"/*.csv
  for maker in "${makers[@]}"; do
    for name in $(compilers_of "$maker"); do
      while [[ $(jobs -rp | wc -l) -ge ${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)} ]]; do wait -n; done
      compile "$1" "$2" "$name" &
    done
  done
  wait
  for maker in "${makers[@]}"; do
    for name in $(compilers_of "$maker"); do
      [[ -s $2/$name.csv ]] || { echo "FAIL $name did not compile every kernel"; failed=1; }
    done
  done
  return $failed
}

# Builds a commit's heed_pipelines in build/isa/COMMIT.
build_of() {
  local folder=$rows/$1
  mkdir -p "$folder/source"
  git -C "$root" archive "$1" | tar -x -C "$folder/source"
  { cmake -S "$folder/source" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release &&
    cmake --build "$folder/build" --target heed_pipelines; } >"$folder/log" 2>&1 ||
    { tail -n 20 "$folder/log"; echo "FAIL $1 does not build"; return 1; }
}

"$root/tests/drivers/with.sh" null-navi31 true || exit 3
failed=0
if [[ " ${makers[*]} " == *" amd "* ]]; then
  fetch mesa-25 "bookworm bookworm-backports"
  run_on mesa-25-navi31 "$warm_start" mesa-25-navi31 || failed=1
fi
compile_all "$program" "$rows" || exit 1
if [[ -n $commit ]]; then
  build_of "$commit" && assembly='' compile_all "$rows/$commit/build/tests/heed_pipelines" "$rows/$commit/rows" || exit 1
  "$root/tests/gpu/families.py" compare "$rows/$commit/rows" "$rows" || exit 1
  exit $failed
fi
[[ $update -eq 0 ]] || "$root/tests/gpu/families.py" write "$table" "$rows"/*.csv || exit 1
"$root/tests/gpu/families.py" check "$table" "$rows"/*.csv || failed=1
exit $failed
