# Finds a C interface that another compiler or language sees otherwise, exports what nobody wrote down, or breaks programs of the last
# release.
about="the C interface from outside: C99, C++, Rust, C#, exported names, places of members, abidiff"
needs="build"
stage() {
  check_lines "tests/c/check.sh" "$with" lavapipe "$root/tests/c/check.sh" "$build/libheed.a" "$build/c"
  if grep -q '^skip ' "$log"; then skip "$(sed -n 's/^skip //p' "$log" | paste -sd ';')"; fi
}
