#!/usr/bin/env bash
# Compiles every kernel that heed would choose on GPUs of several makers with Mesa's compilers for them, which need no
# such GPU, and compares registers, spills, occupancy and instructions with the tables tests/gpu/*_isa.csv.
#
#   tests/gpu/isa.sh [amd] [nvidia] [apple] [qualcomm]   these, or all: fails if a kernel spills more or puts more into
#                                     memory, runs at a lower occupancy or takes over a tenth more instructions than in the
#                                     table, or if a kernel is missing there or here
#   tests/gpu/isa.sh ... --one        each third kernel, by the compiler for one chip of each maker, instead of one of each
#                                     generation; kernels that are missing are found all the same
#   tests/gpu/isa.sh ... --update     writes the tables
#   tests/gpu/isa.sh ... --assembly FOLDER   also writes the assembly of every kernel there
#
# Needs a build (build/tests/heed_pipelines and heed_warm_start, or HEED_BUILD). Two versions of Mesa are fetched from
# Debian into build/drivers: 25.0.7, whose RADV (AMD) does without hardware, and the newest with libraries that
# play the part of a kernel's drivers: RADV, NVK (NVIDIA), Honeykrisp (Apple) and Turnip (Qualcomm). amd also times a
# host's second start, which has the pipeline cache of the first. Exit code 3 where the drivers cannot be had.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${HEED_BUILD:-$root/build}
export HEED_DRIVER_FOLDER=${HEED_DRIVER_FOLDER:-$root/build/drivers}
drivers=$HEED_DRIVER_FOLDER
program=$build/tests/heed_pipelines
warm_start=$build/tests/heed_warm_start
makers=() one=0 update=0 assembly=
while [[ $# -gt 0 ]]; do
  case $1 in
    amd | nvidia | apple | qualcomm) makers+=("$1") ;;
    --one) one=1 ;;
    --update) update=1 ;;
    --assembly) assembly=${2:?usage: isa.sh --assembly FOLDER} && mkdir -p "$assembly" && shift ;;
    *) echo "unknown argument '$1'; see the head of this file" >&2; exit 2 ;;
  esac
  shift
done
[[ ${#makers[@]} -gt 0 ]] || makers=(amd nvidia apple qualcomm)
[[ $one -eq 0 || $update -eq 0 ]] || { echo "--update writes the rows of all chips" >&2; exit 2; }
[[ -x $program && -x $warm_start ]] || { echo "no $program; build heed first" >&2; exit 2; }

# --- Drivers ------------------------------------------------------------------------------------------------------------

# The programs run with the system's C library and the unpacked rest.
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

# Compilers of one maker, as MESA-CHIP: a chip of each generation whose instructions differ.
compilers_of() {
  case $1 in
    amd)
      if [[ $one -eq 1 ]]; then echo mesa-26-navi31; else printf '%s\n' mesa-25-vega10 mesa-26-{navi21,navi31,gfx1201}; fi
      ;;
    nvidia) echo mesa-26-ga102 ;;
    apple) echo mesa-26-m1 ;;
    qualcomm) echo mesa-26-a740 ;;
  esac
}

# --- Tables -------------------------------------------------------------------------------------------------------------

columns="compiler,kernel,constants,example,registers,scalar_registers,spills,scratch,shared,occupancy,instructions,cycles,multiply_add_percent,matrix_percent"

# compile FOLDER MESA-CHIP: makes that compiler's rows of the table.
compile() {
  local file=$1/$2.csv part
  : >"$file"
  for ((part = 0; ; part++)); do
    run_on "$2" "$program" "$2" "${assembly:--}" "$part" $((one ? 3 : 1)) >"$file.part" || { rm -f "$file" "$file.part"; return; }
    [[ -s $file.part ]] || break
    cat "$file.part" >>"$file"
  done
  rm -f "$file.part"
}

compare() {  # compare MAKER TABLE NEW
  # Rows are matched by compiler, kernel, example and their order within these: constants may come and go.
  awk -F, -v maker="$1" '
    FNR == 1 { delete count; next }
    { row = $1 " " $2 " of " $4; row = row " #" ++count[row] }
    NR == FNR { spilled[row] = $7; scratch[row] = $8; occupancy[row] = $10; instructions[row] = $11; next }
    {
      ++kernels
      seen[row] = 1
      spilling += $7 > 0 || $8 > 0
      if (!(row in occupancy)) { bad("is not in the table"); next }
      if (NF == 4) next
      ++compiled
      if ($7 > spilled[row]) bad("spills " $7 " registers, were " spilled[row])
      if ($8 > scratch[row]) bad("takes " $8 " bytes of scratch, were " scratch[row])
      if ($10 < occupancy[row]) bad("runs at an occupancy of " $10 ", was " occupancy[row])
      if ($11 > 1.1 * instructions[row] + 8) bad("takes " $11 " instructions, were " instructions[row])
    }
    function bad(what) { print "FAIL " row " (" $3 ") " what; ++failures }
    END {
      for (n in occupancy) if (!(n in seen)) { print "FAIL " n " is in the table and not made any more"; ++failures }
      if (failures > 0) print "after looking at the above: tests/gpu/isa.sh " maker " --update"
      else print "ok " maker ": " compiled " of " kernels " kernels, occupancy and instructions as in the table, " (spilling > 0 ? spilling " spill" : "none spills")
      exit failures > 0
    }' "$2" "$3"
}

check() {  # check MAKER
  local maker=$1 table=$root/tests/gpu/$1_isa.csv new=$build/$1_isa.csv parts=$build/isa name
  mkdir -p "$parts"
  rm -f "$parts"/*.csv
  local -a compilers
  mapfile -t compilers < <(compilers_of "$maker")
  for name in "${compilers[@]}"; do
    while [[ $(jobs -rp | wc -l) -ge ${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)} ]]; do wait -n; done
    compile "$parts" "$name" &
  done
  wait
  echo "$columns" >"$new"
  for name in "${compilers[@]}"; do
    [[ -s $parts/$name.csv ]] || { echo "FAIL $name did not compile every kernel"; return 1; }
    cat "$parts/$name.csv" >>"$new"
  done
  [[ $update -eq 1 ]] && cp "$new" "$table" && echo "wrote $table"
  [[ -f $table ]] || { echo "FAIL no table $table"; return 1; }
  grep -E "^($(IFS='|'; echo "compiler|${compilers[*]}"))," "$table" >"$parts/table"
  compare "$maker" "$parts/table" "$new"
}

"$root/tests/drivers/with.sh" null-navi31 true || exit 3
failed=0
for maker in "${makers[@]}"; do
  if [[ $maker == amd ]]; then
    fetch mesa-25 "bookworm bookworm-backports"
    run_on mesa-25-navi31 "$warm_start" mesa-25-navi31 || failed=1
  fi
  check "$maker" || failed=1
done
exit $failed
