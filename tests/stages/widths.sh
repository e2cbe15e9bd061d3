# Finds kernels that are wrong with few or many lanes: each width has a 32nd of each table, one golden file of each system, and random
# graphs until each kernel variant has run. Tests of hosts are left out, since they do not depend on lanes, and so is the long table of
# quantized weights, whose kernels other cases run.
about="operations, goldens and random graphs on lavapipe with subgroups of 4 and of 16"
needs="build"
stage() {
  local width
  for width in 128 512; do
    check_catch "tables on lavapipe-$width" env HEED_TEST_EVERY=32+$((width == 512 ? 16 : 0)) "HEED_RANDOM_CASES=${HEED_RANDOM_CASES:-75}" HEED_TEST_DEVICES=llvmpipe GALLIVM_PERF=nopt \
      "$with" lavapipe-$width "$tests" '[ops]~"quantized weights*","goldens: one of each system*",[random],[drivers]~[slow]'
  done
}
