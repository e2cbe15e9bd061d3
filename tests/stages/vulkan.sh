# Finds calls that the validation layers refuse, failures that are not told, and mistakes of heed inside a host. The
# stage cpu has what needs no Vulkan device, and lavapipe and widths run lavapipe's own kernels, which take the driver's compiler many
# times as long as those of GPUs. The quick tier leaves out the self-tests of whole devices, which compile every
# kernel, language models and encoders of text, which the stage cpu has, and what is slow: of the tests that let each call
# fail it keeps one. LLVM does not optimize for it, since the driver's compiler takes most of its seconds.
about="all that is not in tables on the system's lavapipe: hosts, frames, failures, self-tests"
needs="build"
stage() {
  local filter='~[.]~[model]~[language_model]~[ops]~[goldens]~[random]~[cpu]~[base]~[graph]~[io]~[bpe]~[tokenizer]~[text]~[hostile]~[reproducible]'
  [[ $quick -eq 0 ]] || filter+='~"self-test: *"~[talk]~[chat]~[grammar]~[bert]~[narrow]~[decoder]~[slow]'
  check_catch "the other tests on lavapipe-256" env HEED_TEST_DEVICES=llvmpipe HEED_KERNELS=gpu GALLIVM_PERF=nopt \
    "$with" lavapipe-256 "$tests" "$filter"
}
