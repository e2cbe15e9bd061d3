# Every test that needs no Vulkan device, and the tables of operations and the goldens on the CPU device, with every set of
# instructions that this processor has. Finds what is wrong on the CPU, and programs that need a Vulkan loader to start.
about="all tests without a Vulkan loader: the CPU device"
needs="build"
stage() {
  check_catch "heed_tests without Vulkan" "$with" none "$tests" "~[.]~[model]~[language_model]"  # the stages search and models run these
  golden_folders+=("$root/tests/goldens-gradients")
  check_lines "heed verify" "$with" none "$heed" verify --device all "${golden_folders[@]}"
  all_goldens_on cpu
}
