# Installs packages without which nothing else can be built. On a system without apt CMake says what is missing.
about="what the build and the tests need is installed"
alone=1
stage() {
  local names=all-tests
  [[ $quick -eq 0 ]] || names=tests
  check "tests/drivers/install.sh $names" "$root/tests/drivers/install.sh" $names
}
