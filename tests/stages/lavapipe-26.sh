# Finds mistakes of kernels on matrix units, and calls that only the newest Mesa and validation layer refuse. This
# Mesa's compiler takes seconds for attention on matrix units, so that the stage runs a 96th of each table
# and of the compositions, one golden file of each system, and random graphs on every kernel variant.
about="tables, goldens and random graphs on Mesa 26's lavapipe, its matrix units forced on"
needs="build"
stage() {
  is_to_be_had lavapipe-26 || return
  check_catch "tables on lavapipe-26" env HEED_TEST_EVERY=96 "HEED_RANDOM_CASES=${HEED_RANDOM_CASES:-75}" HEED_TEST_DEVICES=llvmpipe GALLIVM_PERF=nopt \
    "$with" lavapipe-26 "$tests" '"*on every device"~"goldens*"~[reproducible],[one_golden_each],[random],[matrix],[drivers]~[slow],adopt*'
}
