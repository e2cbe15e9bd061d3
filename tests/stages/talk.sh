# The talk program on a tiny model, with good and bad inputs, and on SmolLM2, if that can be downloaded. What SmolLM2 says on each
# device is checked by models.
about="talk, with good and bad inputs, and SmolLM2 in it"
needs="samples"
stage() {
  check_lines "samples/talk/test.sh" "$with" none "$root/samples/talk/test.sh" "$build/samples/talk/talk" "$build/talk-test"
  if ! run_logged "samples/talk/fetch_model.sh" "$root/samples/talk/fetch_model.sh"; then
    skip "no model, so talk was not tried with one: $(tail -n 1 "$log")"
    return
  fi
  check_lines "samples/talk/test.sh with SmolLM2" "$with" none "$root/samples/talk/test.sh" "$build/samples/talk/talk" \
    "$build/talk-test" "$(tail -n 1 "$log")"
}
