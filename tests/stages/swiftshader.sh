# Finds calls and shaders that only Mesa accepts, on a device without 16-bit storage and with 256 invocations. SwiftShader is
# slow, so that what takes it long and does not depend on the driver is left to lavapipe and the CPU: failing calls of Vulkan,
# self-tests of all kernels, features that a host did not list, trainings and random gradients, layers of f16 and bf16, language
# models and texts, threads that prepare plans, runs of several plans, 1,000 recordings, staging of large states. A 96th of each
# table and one golden file of each system are enough beside random graphs that reach every kernel.
about="tests on SwiftShader, a driver that shares no code with Mesa"
needs="build"
stage() {
  is_to_be_had swiftshader || return
  check_catch "heed_tests on swiftshader" env HEED_TEST_EVERY=96+1 "HEED_RANDOM_CASES=${HEED_RANDOM_CASES:-40}" \
    HEED_TEST_DEVICES=swiftshader "$with" swiftshader "$tests" \
    '~[.]~[model]~[language_model]~[cpu]~[base]~[graph]~[io]~[text]~[bpe]~[tokenizer]~[bert]~[talk]~[chat]~[grammar]~[decoder]~[hostile]~[curve]~[train]~[reproducible]~"goldens: pass*"~"goldens: gradients*"~"*whatever call fails*"~"self-test: *"~"sample: every*"~"pipelines: many*"~"weights of f16*"~"models in GGUF*"~"started: runs of several*"~"state: more than one piece*"~"rounded rows: results*"~"adopt: nothing*"~"README: a graph*"~"Every layer of nn*"~"record: 1,000*"'
}
