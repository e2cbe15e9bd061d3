# Finds kernels that are wrong with few or many lanes: each width has a 64th of each table, one golden file of each system, and random
# graphs until each kernel variant has run. Tests of hosts are left out, since they do not depend on lanes, and so are long tests of
# quantized weights, sampling and decoders, whose kernels other cases run.
about="operations, goldens and random graphs on lavapipe with subgroups of 4 and of 16"
needs="build"
stage() {
  local width
  local filter='[ops]~"quantized weights*"~"projections by quantized*"~"sample: every*"~"rounded rows*"~"decoders say*"~"models in GGUF*"'
  for width in 128 512; do
    check_catch "tables on lavapipe-$width" env HEED_TEST_EVERY=64+$((width == 512 ? 32 : 0)) "HEED_RANDOM_CASES=${HEED_RANDOM_CASES:-40}" HEED_TEST_DEVICES=llvmpipe GALLIVM_PERF=nopt \
      "$with" lavapipe-$width "$tests" "$filter,goldens: one of each system*,[random],[drivers]~[slow]"
  done
}
