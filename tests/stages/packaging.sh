# Finds installed files that name the build's folders, exported symbols that are not heed's, what runs before main, a bundle that
# needs more than the C and C++ libraries, and options that leave functions out.
about="find_package static and shared, one library without others, CPU or Vulkan alone, no text; nothing runs outside of main"
needs="build"
stage() {
  check_ctest package
  grep -o '[0-9]* exported symbols.*' "$log"
  grep -o 'bundle .*' "$log"
}
