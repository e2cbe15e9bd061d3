# Finds calls that the validation layers refuse, failures that are not told, and mistakes of heed inside a host. The
# quick tier leaves out the self-tests of whole devices, which compile every kernel, and conversations, which the stage cpu
# has.
about="all that is not in tables on the system's lavapipe: hosts, frames, failures, self-tests"
needs="build"
stage() {
  local filter='~[.]~[model]~[ops]~[goldens]~[random]' settings=(HEED_TEST_DEVICES=llvmpipe)
  [[ $quick -eq 0 ]] || filter+='~"self-test: *"~[talk]' settings+=(HEED_KERNELS=gpu)
  check_catch "the other tests on lavapipe-256" env "${settings[@]}" "$with" lavapipe-256 "$tests" "$filter"
}
