# Finds kernels that are wrong with few or many lanes: each width has a 24th of each table, and one golden file of each system. Tests of hosts are left
# out, since they do not depend on lanes.
about="operations, goldens and random graphs on lavapipe with subgroups of 4 and of 16"
needs="build"
stage() {
  local width
  for width in 128 512; do
    check_catch "tables on lavapipe-$width" env HEED_TEST_EVERY=24+$((width == 512 ? 12 : 0)) HEED_TEST_DEVICES=llvmpipe GALLIVM_PERF=nopt \
      "$with" lavapipe-$width "$tests" "[ops],[one_golden_each],[random],[drivers]"
  done
}
