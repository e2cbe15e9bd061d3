# Finds calls that the validation layers refuse, failures that are not told, and mistakes of heed inside a host. The stage cpu has
# what needs no Vulkan device. Of lavapipe's own kernels, which take the driver's compiler many times as long as those of GPUs,
# only the self-tests are run here; lavapipe and widths have more. The quick tier leaves out the self-tests of whole devices,
# which compile every kernel, language models, encoders of text and nearly all trainings, which the stage cpu has, and what is slow: of
# the tests that let each call fail it keeps one. LLVM does not optimize for it, since the driver's compiler takes most of its
# seconds.
about="all that is not in tables on the system's lavapipe: hosts, frames, failures, self-tests"
needs="build"
stage() {
  local settings=(HEED_TEST_DEVICES=llvmpipe GALLIVM_PERF=nopt) filter='~[.]~[model]~[language_model]~[ops]~[goldens]~[random]~[cpu]~[base]~[graph]~[io]~[bpe]~[tokenizer]~[text]~[hostile]~[reproducible]~"self-test: *"'
  [[ $quick -eq 0 ]] || filter+='~[talk]~[chat]~[grammar]~[bert]~[narrow]~[decoder]~[curve]~"gradients: *"~"a training step*"~"lora: *"~[slow]'
  check_catch "the other tests on lavapipe-256" env "${settings[@]}" HEED_KERNELS=gpu \
    "$with" lavapipe-256 "$tests" "$filter"
  [[ $quick -eq 1 ]] ||
    check_catch "self-tests of lavapipe's own kernels" env "${settings[@]}" "$with" lavapipe-256 "$tests" '"self-test: *"'
}
