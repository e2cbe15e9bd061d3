# Finds devices whose reproducible plans have other bits than this version of heed must give, and changes of the canon that
# nobody meant: fingerprints, an oracle, planted faults, training, random graphs, and a part of all tables, each device beside the
# CPU's instruction sets. Interpreted kernels have no fingerprints and few random graphs, which would take minutes; products that
# may emulate f32 are left out, since reproducible plans do not.
about="reproducible plans: the same bits on every driver and instruction set"
needs="build"
stage() {
  local driver filter canon=(env GALLIVM_PERF=nopt HEED_RANDOM_CASES=10 HEED_COMPOSITIONS=2)
  check_catch "the canon on the CPU" "${canon[@]}" HEED_TEST_DEVICES=cpu "$with" none "$tests" "[reproducible]~[language_model]"
  check_catch "the canon on interpreted kernels" "${canon[@]}" HEED_RANDOM_CASES=4 HEED_TEST_DEVICES=spirv:floor,spirv:amd "$with" none "$tests" \
    "reproducible: devices compute*,reproducible: losses*,reproducible: steps*,reproducible: f16*,reproducible: random*,reproducible: compositions*"
  check_catch "tables of reproducible plans on the CPU" env HEED_TEST_REPRODUCIBLE=1 HEED_TEST_DEVICES=cpu HEED_TEST_EVERY=8 \
    "$with" none "$tests" '[ops]~[slow]~[random]~"matmul that may emulate*"'
  if is_to_be_had lavapipe-256; then
    check_lines "heed verify --bits on lavapipe-256" "$with" lavapipe-256 "$heed" verify --bits --device llvmpipe "$root/tests/goldens"
  fi
  for driver in lavapipe-128 lavapipe-256 lavapipe-512 lavapipe-26 swiftshader; do
    filter="reproducible: every operation*,reproducible: devices compute*,reproducible: losses*,reproducible: steps*,reproducible: f16*,reproducible: training*"
    [[ $driver != lavapipe-256 ]] || filter="[reproducible]~[language_model]"
    is_to_be_had $driver || continue
    check_catch "the canon on $driver" "${canon[@]}" HEED_TEST_DEVICES=cpu,vulkan "$with" $driver "$tests" "$filter"
  done
}
