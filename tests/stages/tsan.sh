# Finds races between threads of the CPU device: its pool, a host's, and several plans at once. Random graphs, which run one
# after the other, are left to other stages but for a third.
about="thread sanitizer, on the CPU device"
needs="packages"
stage() {
  local folder=$root/build-tsan
  check "configure" configure "$folder" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DHEED_WERROR=OFF -DHEED_VULKAN=OFF -DHEED_BUILD_SAMPLES=OFF \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DHEED_SANITIZE=thread &&
    check "build" cmake --build "$folder" --target heed_cpu_tests || return
  check_catch "heed_cpu_tests, thread sanitizer" env HEED_TEST_EVERY=3 "$folder/tests/heed_cpu_tests" "[cpu]"
}
