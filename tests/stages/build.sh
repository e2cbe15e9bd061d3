# Finds warnings of GCC, as errors.
about="the library, heed and the tests build with GCC; warnings are errors"
needs="packages"
alone=1
stage() {
  check "configure" configure "$build" -DCMAKE_BUILD_TYPE=Release -DHEED_WERROR=ON -DHEED_BUILD_TESTS=ON -DHEED_BUILD_SAMPLES=ON &&
    check "build" cmake --build "$build" --target heed_tests heed_program
}
