# Runs tests that compile quickly with each access to memory checked. The first test shows that a wrong access is reported. The
# interpreter checks the accesses of every kernel variant; this finds what it takes for granted: that heed binds on a driver what it
# binds there. This runs every variant here, too, which takes ten minutes:
#   HEED_CHECK_BOUNDS=1 HEED_RANDOM_CASES=0 tests/drivers/with.sh lavapipe-26 build/tests/heed_tests "random graphs on every*"
about="no kernel reads or writes outside of what is bound to it, by the validation layer on the GPU's side"
needs="build"
stage() {
  local checked=(env GALLIVM_PERF=nopt HEED_TEST_EVERY=24 HEED_CHECK_BOUNDS=1 HEED_KERNELS=gpu HEED_TEST_DEVICES=vulkan HEED_COMPOSITIONS=2
    "$with" lavapipe-26 "$tests")
  is_to_be_had lavapipe-26 || return
  check_catch "a wrong access is reported" "${checked[@]}" "[bounds]"
  check_catch "heed_tests with accesses checked" "${checked[@]}" \
    "compositions*,[custom],record:*,concat*,cast*,embedding*,mean on*,elementwise on*,softmax on*"
}
