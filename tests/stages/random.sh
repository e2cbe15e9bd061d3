# Runs every kernel variant and graphs of many operations against the references in double, on many more cases than
# elsewhere. A failure says how to repeat it.
#   HEED_RANDOM_CASES   cases on each driver (default 2000)
#   HEED_COMPOSITIONS   graphs of many operations (default: a twentieth as many)
about="thousands of graphs drawn at random, on every kernel variant of every driver"
needs="build"
stage() {
  local driver count=${HEED_RANDOM_CASES:-2000}
  for driver in lavapipe-128 lavapipe-256 lavapipe-512 lavapipe-26 swiftshader; do
    is_to_be_had $driver || continue
    check_catch "random graphs on $driver" env "HEED_RANDOM_CASES=$count" \
      "$with" $driver "$tests" "random graphs on every kernel variant"
    grep -a -A 100 '^random cases: ' "$log" | grep -a -E '^(random cases| +[0-9]+  )'
    check_catch "compositions on $driver" env "HEED_COMPOSITIONS=${HEED_COMPOSITIONS:-$((count / 20))}" \
      "$with" $driver "$tests" "compositions of operations on every device"
    grep -a -A 20 '^compositions: ' "$log" | grep -a -E '^(compositions|  [a-z].* compositions)'
    check_catch "gradients on $driver" env "HEED_RANDOM_CASES=$count" HEED_KERNELS=gpu \
      "$with" $driver "$tests" "gradients are what central differences say*"
    check_catch "200 steps of training on $driver" env HEED_ALL_STEPS=1 "$with" $driver "$tests" "[curve]"
  done
  check_catch "random graphs on interpreted kernels" env "HEED_RANDOM_CASES=$count" HEED_TEST_DEVICES=spirv \
    "$with" none "$tests" "random graphs on every kernel variant"
  grep -a -A 200 '^random cases: ' "$log" | grep -a -E '^(random cases| +[0-9]+  )'
}
