# NEON and SVE, by an emulator: every golden file, and the bits of reproducible plans, on each instruction set, at every length of
# vectors that it may have; all cases of the operations with NEON and with the longest vectors of SVE2, every third with its shorter ones; and the
# CPU device's own tests. The last line says what ran.
about="the CPU device on 64-bit Arm, emulated"
needs="packages"
folder=$root/build-aarch64

# emulated BITS INSTRUCTION_SET EVERY ARGUMENT...: runs tests on an emulated processor; no set: on all sets that it has.
emulated() {
  qemu-aarch64 -cpu "max,sve-default-vector-length=$(($1 / 8))" -L /usr/aarch64-linux-gnu -E "HEED_CPU_TARGET=$2" \
    -E "HEED_TEST_EVERY=$3" -E "LD_LIBRARY_PATH=$folder/sysroot/root/usr/lib/aarch64-linux-gnu" "$folder/tests/heed_cpu_tests" "${@:4}"
}

stage() {
  local toolchain bits set sets ran=() every canon
  # The fingerprints are those of x86, and the oracle is compiled for the emulated processor.
  canon="reproducible: every operation*,reproducible: devices compute*,reproducible: losses*,reproducible: steps*,reproducible: f16*"
  mkdir -p "$folder"
  if ! toolchain=$("$root/tests/drivers/aarch64.sh" "$folder/sysroot" 2>"$folder/sysroot.log"); then
    skip "no cross compiler, emulator or libraries, so nothing was checked on 64-bit Arm: $(tail -n 1 "$folder/sysroot.log")"
    return
  fi
  check "configure" configure "$folder" -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
    -DCMAKE_BUILD_TYPE=Release -DHEED_WERROR=ON -DHEED_VULKAN=OFF -DHEED_BUILD_TESTS=ON -DHEED_BUILD_SAMPLES=OFF &&
    check "build" cmake --build "$folder" --target heed_cpu_tests || return
  for bits in 128 256 512; do
    sets=$(emulated $bits "" 1 "[sets]" | sed -n 's/^instruction sets =//p')
    [[ -n $sets ]] || fail "the tests name no instruction sets at $bits bits"
    for set in $sets; do
      [[ $set == SVE* || $bits -eq 128 ]] || continue  # the others' vectors have one length
      check_catch "goldens with $set, vectors of $bits bits" emulated $bits "$set" 1 "goldens: pass on every device"
      check_catch "reproducible plans with $set, vectors of $bits bits" emulated $bits "$set" 1 "$canon"
      ran+=("$set at $bits bits")
    done
  done
  check_catch "operations with NEON" emulated 128 NEON 1 "[ops]"
  for bits in 512 256 128; do
    every=$((bits == 512 ? 1 : 3))
    check_catch "operations with SVE2, vectors of $bits bits" emulated $bits SVE2 $every "[ops]"
  done
  check_catch "the CPU device, vectors of 256 bits" emulated 256 "" 1 "[cpu]"
  printf 'emulated, goldens: %s; operations: NEON, SVE2 at 128, 256, 512 bits\n' "$(IFS=,; echo "${ran[*]}" | sed 's/,/, /g')"
}
