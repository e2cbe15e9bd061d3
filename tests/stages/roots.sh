# Runs in a clean root of Debian 13, with that system's compiler, driver and validation layer. Finds packages that
# nothing installs, and breaks by newer ones. tests/drivers/roots.sh does this on Debian 12 and sid, too, and
# tests/drivers/compilers.sh builds the library with other compilers.
about="the quick tier, and a program with the bundle, on a Debian 13 that has nothing but a compiler"
needs="packaging"  # whose bundles it takes
stage() {
  [[ -z $(git -C "$root" status --porcelain) ]] || skip "a clean root gets the last commit: later changes were not tested there"
  check_lines "tests/drivers/roots.sh bundle tests 13" "$root/tests/drivers/roots.sh" bundle tests 13
}
