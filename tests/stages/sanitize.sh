# Finds accesses outside of memory, leaks and undefined arithmetic, in the tests that need no Vulkan device and in the tour. The
# cpu stage runs all of each table, this one a 24th; it leaves out a test of speed, and 200 steps of one training.
about="address and undefined behaviour sanitizers, on the CPU device"
needs="packages"
stage() {
  local folder=$root/build-sanitize
  export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
  export LSAN_OPTIONS=suppressions=$root/tests/drivers/leaks.txt:print_suppressions=0
  # Sanitizers make GCC 12 warn of its own library; the other builds judge warnings.
  check "configure" configure "$folder" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DHEED_WERROR=OFF \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DHEED_SANITIZE=address,undefined &&
    check "build" cmake --build "$folder" --target heed_tests heed_c_tests tour || return
  check_catch "heed_tests without Vulkan, sanitized" env HEED_TEST_EVERY=24+1 HEED_RANDOM_CASES="${HEED_RANDOM_CASES:-30}" \
    "$with" none "$folder/tests/heed_tests" '~[.]~[model]~[language_model]~[curve]~"Bpe takes a megabyte*"'
  check_catch "heed_c_tests without Vulkan, sanitized" "$with" none "$folder/tests/heed_c_tests"
  check_lines "samples/tour/test.sh, sanitized" \
    "$with" none "$root/samples/tour/test.sh" "$folder/samples/tour/tour" "$folder/tour-test"
}
