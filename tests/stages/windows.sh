# Tests Windows as far as MinGW and Wine show it: everything that needs no GPU, and goldens on lavapipe behind Wine's
# Vulkan.
about="Windows, by MinGW and Wine"
needs="packages"
folder=$root/build-windows

under_wine() { env WINEPREFIX="$folder/wine-$1" WINEDEBUG=-all "${@:2}" | tr -d '\r'; }

stage() {
  local toolchain
  mkdir -p "$folder"
  if ! "$root/tests/drivers/install.sh" windows >"$folder/sysroot.log" 2>&1 ||
    ! toolchain=$("$root/tests/drivers/windows.sh" "$folder/sysroot" 2>>"$folder/sysroot.log"); then
    skip "no cross compiler, Wine or libraries, so nothing was checked on Windows: $(tail -n 1 "$folder/sysroot.log")"
    return
  fi
  check "configure" configure "$folder" -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
    -DCMAKE_BUILD_TYPE=Release -DHEED_WERROR=ON -DHEED_BUILD_TESTS=ON -DHEED_BUILD_SAMPLES=ON &&
    check "build" cmake --build "$folder" --target heed_cpu_tests heed_program || return
  check_catch "heed_cpu_tests under Wine" under_wine text wine "$folder/tests/heed_cpu_tests.exe" "~[.]"
  # Wine's Vulkan wants a display from the start; a path that begins with a slash would be an option on Windows.
  check_lines "heed verify under Wine" under_wine window xvfb-run -a "$with" lavapipe \
    wine "$folder/samples/heed/heed.exe" verify --device all tests/goldens
  all_goldens_on llvmpipe
}
