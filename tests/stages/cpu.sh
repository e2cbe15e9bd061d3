# Every test that needs no Vulkan device, and the tables of operations and the goldens on the CPU device, with every set of
# instructions that this processor has. Finds what is wrong on the CPU, and programs that need a Vulkan loader to start.
# The quick tier leaves out those that are slow.
about="tests without a Vulkan loader: the CPU device"
needs="build"
stage() {
  local filter="~[.]~[model]~[language_model]"  # the stages search and models run these
  [[ $quick -eq 0 ]] || filter+="~[slow]"
  check_catch "heed_tests without Vulkan" "$with" none "$tests" "$filter"
  golden_folders+=("$root/tests/goldens-gradients")
  check_lines "heed verify" "$with" none "$heed" verify --device all "${golden_folders[@]}"
  all_goldens_on cpu
}
