# Finds kernels that give wrong results, with the layers that find accesses without a barrier: goldens in three sets,
# the kernels of lavapipe, of GPUs, and of GPUs without subgroup operations; tables with those of GPUs. This stage,
# swiftshader and interpreter run a third of each table, so that each case runs once; widths runs them with
# lavapipe's own, which take its compiler many times as long. The quick tier takes a GPU's kernels, on every 80th case
# of each table, and each golden file once. All but a few of its seconds are the driver's compiler, which takes twice as
# long on Debian 13 as on Debian 12, and a third less where LLVM does not optimize.
about="operations, goldens and random graphs on the system's lavapipe with subgroups of 8"
needs="build"
stage() {
  local tables='[ops],[random],[drivers]' every=3
  [[ $quick -eq 0 ]] || every=80 tables+=',goldens: pass on every device'
  check_catch "tables on lavapipe-256" env HEED_TEST_EVERY=$every HEED_KERNELS=gpu HEED_TEST_DEVICES=llvmpipe \
    GALLIVM_PERF=nopt "$with" lavapipe-256 "$tests" "$tables"
  [[ $quick -eq 1 ]] || check_catch "goldens on lavapipe-256" env HEED_TEST_DEVICES=llvmpipe GALLIVM_PERF=nopt \
    "$with" lavapipe-256 "$tests" "[goldens]"
}
