# Finds headers that lean on what was included before them, and what is not marked for export.
about="public headers, each alone"
needs="packages"
stage() {
  local compilers=()
  for compiler in g++ clang++; do
    command -v $compiler >/dev/null && compilers+=("$compiler")
  done
  check_lines "public headers" "$root/tests/headers/check.sh" "${compilers[@]}"
}
