#!/usr/bin/env bash
# Compiles every kernel that heed would choose on AMD GPUs with AMD's open compiler (Mesa's RADV and ACO), which needs
# no such GPU, and compares registers, spills, occupancy and instructions with tests/gpu/amd_isa.csv. Also times a
# host's second start, which has the pipeline cache of the first.
#
#   tests/gpu/amd_isa.sh              fails if a kernel spills more, runs at a lower occupancy or takes over a tenth more
#                                     instructions than in the table, or if a kernel is missing there or here
#   tests/gpu/amd_isa.sh --update     writes the table
#   tests/gpu/amd_isa.sh --assembly FOLDER   also writes the assembly of every kernel there
#
# Needs a build (build/tests/heed_pipelines and heed_warm_start, or HEED_BUILD). Two versions of Mesa are fetched from Debian into
# build/drivers: 22.3.6 for navi10, navi21, gfx1100, vega10, and 25.0.7 for those and navi31, gfx1201. Exit code 3 where
# they cannot be had.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${HEED_BUILD:-$root/build}
drivers=${HEED_DRIVER_FOLDER:-$root/build/drivers}
table=$root/tests/gpu/amd_isa.csv
program=$build/tests/heed_pipelines
warm_start=$build/tests/heed_warm_start
update=0 assembly=
case ${1:-} in
  '') ;;
  --update) update=1 ;;
  --assembly) assembly=${2:?usage: amd_isa.sh --assembly FOLDER} && mkdir -p "$assembly" ;;
  *) echo "unknown argument '$1'; see the head of this file" >&2; exit 2 ;;
esac
[[ -x $program && -x $warm_start ]] || { echo "no $program; build heed first" >&2; exit 2; }

# The program runs with the system's C library and the unpacked rest.
left_out="libc6 libgcc-s1 gcc-12-base libstdc++6"
fetch() { "$root/tests/drivers/debian_root.sh" "$drivers/$1" "$2" "mesa-vulkan-drivers libvulkan1" "$left_out" || exit 3; }
fetch mesa-22 bookworm
fetch mesa-25 "bookworm bookworm-backports"

radv() {  # radv MESA FAMILY COMMAND...
  local folder=$drivers/$1 family=$2 libraries icd
  shift 2
  libraries=$(dirname "$(find "$folder/usr/lib" -name libvulkan_radeon.so | head -n 1)")
  icd=$folder/radeon.json
  printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.3.0"}}\n' \
    "$libraries/libvulkan_radeon.so" >"$icd"
  env -u VK_INSTANCE_LAYERS -u VK_LOADER_LAYERS_ENABLE LD_LIBRARY_PATH="$libraries" VK_ICD_FILENAMES="$icd" \
    VK_DRIVER_FILES="$icd" VK_LOADER_LAYERS_DISABLE='*' NODEVICE_SELECT=1 MESA_SHADER_CACHE_DISABLE=true \
    RADV_FORCE_FAMILY="$family" "$@" \
    2> >(grep -v -e 'not a recognized processor' -e 'not a conformant' -e 'invalid pci' >&2)
}
compile() {  # compile MESA FAMILY [MATRIX]
  radv "$1" "$2" "$program" "$1-$2" "${assembly:--}" "${3:-0}"
}

radv mesa-25 navi31 "$warm_start" mesa-25-navi31
warm=$?

new=$build/amd_isa.csv
{
  echo "compiler,kernel,constants,example,vgprs,sgprs,spills,scratch,lds,occupancy,instructions,latency,multiply_add_percent,matrix_percent"
  for family in navi10 navi21 gfx1100 vega10; do compile mesa-22 $family || echo failed; done
  for family in navi10 navi21 vega10 navi31; do compile mesa-25 $family || echo failed; done
  # Its matrix units are compiled for, but not listed by this version.
  compile mesa-25 gfx1201 16 || echo failed
} >"$new"
grep -q '^failed$' "$new" && { echo "FAIL a kernel did not compile"; exit 1; }

[[ $update -eq 1 ]] && cp "$new" "$table" && echo "wrote $table"
# Rows are matched by compiler, kernel, example and their order within these: constants may come and go.
awk -F, '
  FNR == 1 { delete count; next }
  { row = $1 " " $2 " of " $4; row = row " #" ++count[row] }
  NR == FNR { spilled[row] = $7 + $8; occupancy[row] = $10; instructions[row] = $11; next }
  {
    ++kernels
    seen[row] = 1
    spilling += $7 > 0 || $8 > 0
    if (!(row in occupancy)) { bad("is not in the table"); next }
    if ($7 + $8 > spilled[row]) bad("spills " $7 " registers, " $8 " bytes of scratch")
    if ($10 < occupancy[row]) bad("runs at an occupancy of " $10 ", was " occupancy[row])
    if ($11 > 1.1 * instructions[row] + 8) bad("takes " $11 " instructions, were " instructions[row])
  }
  function bad(what) { print "FAIL " row " (" $3 ") " what; ++failures }
  END {
    for (n in occupancy) if (!(n in seen)) { print "FAIL " n " is in the table and not made any more"; ++failures }
    if (failures > 0) print "after looking at the above: tests/gpu/amd_isa.sh --update"
    else print "ok " kernels " kernels: occupancy and instructions as in the table, " (spilling > 0 ? spilling " spill" : "none spills")
    exit failures > 0
  }' "$table" "$new" && [[ $warm -eq 0 ]]
