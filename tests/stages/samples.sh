# Finds warnings of GCC in the samples and in the programs of tests/gpu and tests/bench, as errors.
about="all else builds with GCC: samples and benchmarks"
needs="build"
stage() { check "build all" cmake --build "$build"; }
