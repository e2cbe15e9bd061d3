# Finds warnings of Clang, as errors, and files of the library that do not include what they use.
about="the library builds with Clang: -fno-exceptions -fno-rtti -Wall -Wextra -Wpedantic -Werror"
needs="packages"
stage() {
  local folder=$root/build-clang
  check "configure" configure "$folder" -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_BUILD_TYPE=Release -DHEED_WERROR=ON -DHEED_PRECOMPILE=OFF -DHEED_UNITY=OFF -DHEED_BUILD_TESTS=OFF \
    -DHEED_BUILD_SAMPLES=OFF -DHEED_BUILD_BENCH=OFF &&
    check "build" cmake --build "$folder"
}
