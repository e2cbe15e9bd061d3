# Finds answers of SmolLM2-135M-Instruct that its weights do not give, where the model can be downloaded. The CPU device answers eight
# prompts, lavapipe two. Reproducible plans of the model are left out on lavapipe, whose compiler takes a minute for them, since
# the stage reproducible runs plans of tiny models there.
about="SmolLM2-135M-Instruct from its GGUF file"
needs="build"
stage() {
  local driver word
  if ! run_logged "samples/talk/fetch_model.sh" "$root/samples/talk/fetch_model.sh"; then
    skip "no model, so nothing that it says was checked on any device: $(tail -n 1 "$log")"
    return
  fi
  for driver in none lavapipe; do
    word=$([[ $driver == none ]] && echo cpu || echo llvmpipe)
    is_to_be_had $driver || continue
    check_catch "SmolLM2 on $word" env HEED_REQUIRE_MODEL=1 HEED_TEST_DEVICES=$word "$with" $driver "$tests" \
      "[language_model]$([[ $word == cpu ]] || echo '~[reproducible]')"
  done
}
