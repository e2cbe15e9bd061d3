# Finds accesses outside of memory, leaks and undefined arithmetic, in the tests that need no Vulkan device and in the tour. The
# library is compiled by Clang where that is installed, without the precompiled header, and mostly without optimization, which
# takes half the time: finds what Clang warns of, as errors, and files that lean on that header. The tests are those of the stage
# build, linked with that library. The cpu stage runs all of each table, this one a 24th; it leaves out a test of speed, 200 steps
# of one training, kernels for every size of heads, and what looks at the instruction sets of the ordinary build.
about="address and undefined behaviour sanitizers, on the CPU device; the library compiled by Clang"
needs="samples"  # which builds the tests
stage() {
  local folder=$root/build-sanitize compiler=()
  export ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
  export LSAN_OPTIONS=suppressions=$root/tests/drivers/leaks.txt:print_suppressions=0
  if echo 'int main() {}' | clang++ -fsanitize=address,undefined -x c++ - -o "$logs/sanitized" 2>"$logs/clang.log"; then
    compiler=(-DCMAKE_CXX_COMPILER=clang++ -DHEED_WERROR=ON)
  else  # sanitizers make GCC 12 warn of its own library
    compiler=(-DHEED_WERROR=OFF)
    skip "clang++ or its sanitizers are not installed, so nothing was compiled by Clang: $(tail -n 1 "$logs/clang.log")"
  fi
  check "configure" configure "$folder" "${compiler[@]}" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DHEED_PRECOMPILE=OFF \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O0 -g1" -DHEED_SANITIZE=address,undefined -DHEED_TESTS_OF="$build" &&
    check "build" cmake --build "$folder" --target heed_tests heed_c_tests tour || return
  check_catch "heed_tests without Vulkan, sanitized" env HEED_TEST_EVERY=24+1 HEED_RANDOM_CASES="${HEED_RANDOM_CASES:-30}" \
    "$with" none "$folder/tests/heed_tests" '~[.]~[model]~[language_model]~[curve]~"Bpe takes a megabyte*"~"Highway*"~"attention on matrix units fits*"'
  check_catch "heed_c_tests without Vulkan, sanitized" "$with" none "$folder/tests/heed_c_tests"
  check_lines "samples/tour/test.sh, sanitized" \
    "$with" none "$root/samples/tour/test.sh" "$folder/samples/tour/tour" "$folder/tour-test"
}
