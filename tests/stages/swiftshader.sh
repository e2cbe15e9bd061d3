# Finds calls and shaders that only Mesa accepts, on a device without 16-bit storage and with 256 invocations.
# SwiftShader is slow: `heed verify` runs the goldens, with the kernels that heed_tests would take; failing calls of
# Vulkan and self-tests of all kernels, minutes each, are left to lavapipe; a 32nd of each table is enough beside
# random graphs that reach every kernel.
about="tests on SwiftShader, a driver that shares no code with Mesa"
needs="build"
stage() {
  is_to_be_had swiftshader || return
  check_catch "heed_tests on swiftshader" env HEED_TEST_EVERY=32+1 "HEED_RANDOM_CASES=${HEED_RANDOM_CASES:-75}" \
    HEED_TEST_DEVICES=swiftshader "$with" swiftshader "$tests" \
    '~[.]~[model]~[language_model]~[curve]~[remat]~[reproducible]~"goldens: pass on every device"~"failures: whatever call fails*"~"self-test: *"'
  check_goldens swiftshader
}
