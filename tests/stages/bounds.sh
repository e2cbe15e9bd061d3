# Runs every kernel variant that GPUs get once, with each access to memory checked, and tests that compile quickly with
# checks. The first test shows that a wrong access is reported. This runs the other variants, which take minutes more:
#   HEED_CHECK_BOUNDS=1 HEED_RANDOM_CASES=0 tests/drivers/with.sh lavapipe-26 build/tests/heed_tests "random graphs on every*"
about="no kernel reads or writes outside of what is bound to it, by the validation layer on the GPU's side"
needs="build"
stage() {
  local checked=(env GALLIVM_PERF=nopt HEED_TEST_EVERY=24 HEED_CHECK_BOUNDS=1 HEED_KERNELS=gpu HEED_TEST_DEVICES=vulkan HEED_RANDOM_CASES=0 HEED_COMPOSITIONS=2
    "$with" lavapipe-26 "$tests")
  is_to_be_had lavapipe-26 || return
  check_catch "a wrong access is reported" "${checked[@]}" "[bounds]"
  check_catch "heed_tests with accesses checked" "${checked[@]}" \
    "random graphs on every*,compositions*,[custom],record:*,concat*,cast*,embedding*,mean on*,elementwise on*,softmax on*"
}
