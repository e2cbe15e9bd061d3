# Finds kernels that give wrong results, with the layers that find accesses without a barrier: goldens, the gradients of one of
# each system and tables with the kernels of GPUs, and one golden file of each system with those of lavapipe and of GPUs without
# subgroup operations. The CPU device has the gradients of all. This stage, swiftshader and interpreter run different shares of
# each table, the CPU device all of it; widths runs a part with lavapipe's own kernels, which take its compiler many times as
# long. The quick tier takes a GPU's kernels, on every 120th case of each table, and one golden file of each system; their
# gradients, sampling and decoders are left to the CPU there. All but a few of its seconds are the driver's compiler, which takes
# four times as long on Debian 13 as on Debian 12, and a third less where LLVM does not optimize.
about="operations, goldens and random graphs on the system's lavapipe with subgroups of 8"
needs="build"
stage() {
  local settings=(HEED_TEST_DEVICES=llvmpipe GALLIVM_PERF=nopt)
  if [[ $quick -eq 1 ]]; then
    check_catch "some of the tables on lavapipe-256" env "${settings[@]}" HEED_TEST_EVERY=240 HEED_KERNELS=gpu \
      "$with" lavapipe-256 "$tests" '[ops]~[random]~[model_files]~[slow]~"sample:*"~"decoders*",goldens: one of each system passes*'
    return
  fi
  check_catch "tables on lavapipe-256" env "${settings[@]}" HEED_TEST_EVERY=48 HEED_KERNELS=gpu "HEED_RANDOM_CASES=${HEED_RANDOM_CASES:-75}" \
    "$with" lavapipe-256 "$tests" "[ops],[random],[drivers]~[slow]"
  check_catch "goldens on lavapipe-256" env "${settings[@]}" HEED_KERNELS=gpu "$with" lavapipe-256 "$tests" \
    "goldens: pass*,goldens: gradients of one*"
  check_catch "goldens by all kernels of lavapipe-256" env "${settings[@]}" "$with" lavapipe-256 "$tests" "goldens: one of each system passes*"
}
