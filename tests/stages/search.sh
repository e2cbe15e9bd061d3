# The search sample, then the 500 sentences of tests/search with the real model, if that can be downloaded: all of them on the
# CPU device, every fiftieth on lavapipe, unless HEED_ALL_SENTENCES=1. SwiftShader would take two minutes of two processors for kernels
# that its own stage runs.
about="search, with good and bad inputs, and all-MiniLM-L6-v2"
needs="samples"
stage() {
  local driver word all
  check_lines "samples/search/test.sh" \
    "$with" none "$root/samples/search/test.sh" "$build/samples/search/search" "$build/search-test"
  if ! run_logged "samples/search/fetch_model.sh" "$root/samples/search/fetch_model.sh"; then
    skip "no model, so none of its 500 sentences was checked on any device: $(tail -n 1 "$log")"
    return
  fi
  for driver in none lavapipe; do
    case $driver in none) word=cpu ;; *) word=llvmpipe ;; esac
    all=${HEED_ALL_SENTENCES:-0}
    [[ $driver == none ]] && all=1
    check_catch "sentences on $word" env HEED_REQUIRE_MODEL=1 HEED_ALL_SENTENCES="$all" HEED_TEST_DEVICES=$word \
      "$with" $driver "$tests" "[model]"
  done
}
