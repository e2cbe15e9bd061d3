# Finds headers that lean on what was included before them, what is not marked for export, and functions and structs of the C
# interface that are not the committed ones. The quick tier asks GCC alone.
about="public headers, each alone"
needs="packages"
stage() {
  local compilers=()
  local all=(g++ clang++)
  [[ $quick -eq 0 ]] || all=(g++)
  for compiler in "${all[@]}"; do
    command -v $compiler >/dev/null && compilers+=("$compiler")
  done
  check_lines "public headers" "$root/tests/headers/check.sh" "${compilers[@]}"
  check_lines "functions and structs of the C interface" "$root/tests/c/interface.py"
}
