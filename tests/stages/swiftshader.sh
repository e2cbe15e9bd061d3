# Finds calls and shaders that only Mesa accepts, on a device without 16-bit storage and with 256 invocations. SwiftShader is
# slow: `heed verify` runs the goldens, with the kernels that heed_tests would take; failing calls of Vulkan, self-tests of all
# kernels, gradients of goldens and random ones, minutes each, and language models and texts are left to lavapipe and the CPU; a
# 96th of each table is enough beside random graphs that reach every kernel.
about="tests on SwiftShader, a driver that shares no code with Mesa"
needs="build"
stage() {
  is_to_be_had swiftshader || return
  check_catch "heed_tests on swiftshader" env HEED_TEST_EVERY=96+1 "HEED_RANDOM_CASES=${HEED_RANDOM_CASES:-40}" \
    HEED_TEST_DEVICES=swiftshader "$with" swiftshader "$tests" \
    '~[.]~[model]~[language_model]~[cpu]~[base]~[graph]~[io]~[text]~[bpe]~[tokenizer]~[bert]~[talk]~[chat]~[grammar]~[decoder]~[hostile]~[curve]~[remat]~[reproducible]~"goldens: *"~"*whatever call fails*"~"self-test: *"~"gradients are what*"'
  check_goldens swiftshader
}
