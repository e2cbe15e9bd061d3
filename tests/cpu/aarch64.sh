#!/usr/bin/env bash
# NEON and SVE in an emulator: every golden file, and the bits of reproducible plans, on each instruction set and vector length;
# all cases of the operations with NEON and with the longest vectors of SVE2, every third with its shorter vectors; and the CPU
# device's own tests. Prints a line for each, and last what ran.
#   aarch64.sh FOLDER    the build folder. Exit code 3: no cross compiler, emulator or libraries
set -uo pipefail

folder=${1:?usage: aarch64.sh FOLDER}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
failed=0
mkdir -p "$folder"

# check NAME COMMAND...: prints a line with the result, and the command's output if it fails
check() {
  local name=$1 log=$folder/check.log
  shift
  if "$@" </dev/null >"$log" 2>&1; then echo "ok $name"; else
    tail -n 60 "$log"
    echo "FAIL $name"
    failed=1
    return 1
  fi
}

# run_emulated BITS INSTRUCTION_SET EVERY FILTER: runs tests on an emulated processor; an empty set means all its sets
run_emulated() {
  qemu-aarch64 -cpu "max,sve-default-vector-length=$(($1 / 8))" -L /usr/aarch64-linux-gnu -E "HEED_CPU_TARGET=$2" \
    -E "HEED_TEST_EVERY=$3" -E "LD_LIBRARY_PATH=$folder/sysroot/root/usr/lib/aarch64-linux-gnu" "$folder/tests/heed_cpu_tests" "$4"
}
export -f run_emulated
export folder
# emulated NAME BITS INSTRUCTION_SET EVERY FILTER: runs them as a check
emulated() { check "$1" "$root/tests/harness/counted.sh" bash -c 'run_emulated "$@"' - "${@:2}"; }

if ! toolchain=$("$root/tests/drivers/aarch64.sh" "$folder/sysroot" 2>"$folder/sysroot.log"); then
  echo "SKIPPED: no cross compiler, emulator or libraries, so nothing was checked on 64-bit Arm: $(tail -n 1 "$folder/sysroot.log")"
  exit 3
fi
check "configure" cmake -S "$root" -B "$folder" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DCMAKE_BUILD_TYPE=Release \
  -DHEED_WERROR=ON -DHEED_VULKAN=OFF -DHEED_BUILD_TESTS=ON -DHEED_BUILD_SAMPLES=OFF &&
  check "build" cmake --build "$folder" --target heed_cpu_tests || exit 1

# The fingerprints are those of x86, and the oracle is compiled for the emulated processor.
canon="reproducible: every operation*,reproducible: devices compute*,reproducible: losses*,reproducible: steps*,reproducible: f16*"
ran=()
for bits in 128 256 512; do
  sets=$(run_emulated $bits "" 1 "[sets]" | sed -n 's/^instruction sets =//p')
  [[ -n $sets ]] || { echo "FAIL the tests name no instruction sets at $bits bits"; failed=1; }
  for set in $sets; do
    [[ $set == SVE* || $bits -eq 128 ]] || continue  # vectors of the other sets have one length
    emulated "goldens with $set, vectors of $bits bits" $bits "$set" 1 "goldens: pass on every device"
    emulated "reproducible plans with $set, vectors of $bits bits" $bits "$set" 1 "$canon"
    ran+=("$set at $bits bits")
  done
done
emulated "operations with NEON" 128 NEON 1 "[ops]"
for bits in 512 256 128; do
  emulated "operations with SVE2, vectors of $bits bits" $bits SVE2 $((bits == 512 ? 1 : 3)) "[ops]"
done
emulated "the CPU device, vectors of 256 bits" 256 "" 1 "[cpu]"
printf 'emulated, goldens: %s; operations: NEON, SVE2 at 128, 256, 512 bits\n' "$(IFS=,; echo "${ran[*]}" | sed 's/,/, /g')"
exit $failed
