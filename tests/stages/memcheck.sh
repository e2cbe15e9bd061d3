# Finds results that depend on memory that nobody wrote, which no sanitizer sees. Valgrind has processors up to AVX2. Reproducible
# plans, which take the same loops through memory, are left to the sanitizers.
about="no result of the CPU device comes from memory that nobody wrote, by valgrind"
needs="build"
stage() {
  check_catch "heed_tests under valgrind" env HEED_TEST_EVERY=18 HEED_TEST_DEVICES=cpu \
    "$with" none valgrind -q --error-exitcode=9 "$tests" '"*on every device"~"goldens*"~[reproducible],random graphs on the CPU*'
}
