# Calls all of the C interface, rightly and wrongly. Finds what programs in other languages stumble over: functions and structs that
# are not those of the last release, declarations of C# and Zig that lay structs out in another way, a shared library that Rust
# cannot link or call.
about="the C interface: its tests, what the last release had, a program in Rust, declarations for C# and Zig"
needs="packaging samples"  # whose shared library and program it takes
stage() {
  local library program=$logs/attention line
  library=$(find "$build/packaging/shared/moved" -name libheed.so 2>/dev/null | head -n 1)
  [[ -n $library ]] || { fail "the stage packaging left no shared library"; return; }
  check_catch "heed_c_tests without Vulkan" "$with" none "$build/tests/heed_c_tests"
  check_catch "heed_c_tests on lavapipe" env HEED_KERNELS=gpu "$with" lavapipe "$build/tests/heed_c_tests"
  check_lines "ABI" "$root/tests/c/abi.py" "$library"
  check_lines "declarations" "$root/tests/c/declarations.py" "$logs/declarations" "$library"
  while read -r line; do skip "${line#SKIPPED: }"; done < <(grep '^SKIPPED: ' "$log")
  if ! command -v rustc >/dev/null; then
    skip "Rust: rustc is not installed"
  elif check "Rust links" rustc --edition 2021 -O -L "$(dirname "$library")" -l dylib=heed \
    -C link-arg=-Wl,-rpath,"$(dirname "$library")" -o "$program" "$root/tests/c/rust/attention.rs"; then
    check_lines "Rust" "$program"
  fi
}
