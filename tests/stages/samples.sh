# Finds warnings of GCC in the samples, the tests of the C interface and the programs of tests/gpu and tests/bench, as errors.
about="all else builds with GCC: samples, tests of the C interface, benchmarks"
needs="build"
stage() { check "build all" cmake --build "$build" --target all heed_c_tests; }
