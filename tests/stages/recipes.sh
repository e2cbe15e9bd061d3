# The recipes of engine/packaging. Finds options, versions and libraries that they name and heed does not, and builds that no longer
# come to an end; xmake and Conan where they can be had.
about="recipes for vcpkg, Conan and xmake are read and built offline, with the objects of the build"
needs="build"
stage() {
  local line
  check_lines "recipes" "$root/tests/packaging/recipes.py" "$build" "$build/recipes"
  while read -r line; do skip "${line#SKIPPED: }"; done < <(grep '^SKIPPED: ' "$log")
}
