# Godot 4 of Debian sid loads the add-on, headless and under Xvfb with validation, with a safe and a separate render thread: attention
# on Godot's buffers, characters on CPU and GPU, the demo, and faults, each of which ends in an error and lets the game go on. The
# root with Godot stays in build/roots/godot for the next time.
about="the Godot add-on in Debian's Godot: headless, and on Mesa's software driver with validation"
needs="build"
stage() {
  local folder=$root/build/roots/godot built=$root/build/godot model code=0
  run_logged "samples/godot/get_godot.sh" "$root/samples/godot/get_godot.sh" "$folder" || code=$?
  if ((code == 3)); then
    skip "no Godot, so the add-on was not tried: $(tail -n 1 "$log")"
    return
  elif ((code != 0)); then
    fail "samples/godot/get_godot.sh (all of it: $log)"
    return
  fi
  check "configure the add-on" cmake -S "$root/samples/godot" -B "$built" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DHEED_GODOT_INTERFACE="$folder/interface" -DHEED_GODOT_HEED="$build" || return 0
  check "build the add-on" cmake --build "$built" --parallel "$(nproc)" || return 0
  if ! run_logged "samples/search/fetch_model.sh" "$root/samples/search/fetch_model.sh" ||
    ! run_logged "samples/talk/fetch_model.sh" "$root/samples/talk/fetch_model.sh"; then
    skip "no model, so no character of the add-on was tried: $(tail -n 1 "$log")"
    return
  fi
  model=$(tail -n 1 "$log")
  check "samples/godot/test.sh" "$root/samples/godot/test.sh" "$folder" \
    "$root/samples/godot/addons/heed/bin/libheed_godot.so" "$model" \
    "$root/.cache/all-MiniLM-L6-v2" || true
}
