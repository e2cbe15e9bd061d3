# Tests the behaviour of the swarm's crowds, the pictures and the window, on one width of lavapipe and on SwiftShader.
about="swarm: behaviour, pictures, window and wrong input"
needs="samples"
stage() {
  local driver options
  for driver in lavapipe-256 swiftshader none; do
    options=()
    case $driver in swiftshader) options=(--short) ;; none) options=(--bad-only) ;; esac
    is_to_be_had $driver || continue
    check_lines "samples/swarm/test.sh on $driver" "$with" $driver "$root/samples/swarm/test.sh" "$build/samples/swarm" \
      "$build/swarm-test-$driver" "${options[@]}"
  done
}
