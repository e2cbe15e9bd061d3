# Good and bad inputs of the tour, and its pictures.
about="the tour, with good and bad inputs"
needs="samples"
stage() {
  check_lines "samples/tour/test.sh" "$with" none "$root/samples/tour/test.sh" "$build/samples/tour/tour" "$build/tour-test"
  check "the tour on lavapipe" "$with" lavapipe "$build/samples/tour/tour" --device llvmpipe --out "$build/tour"
}
