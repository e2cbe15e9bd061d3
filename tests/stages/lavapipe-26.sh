# Finds mistakes of kernels on matrix units, and calls that only the newest Mesa and validation layer refuse. This Mesa's compiler
# takes seconds for each kernel of attention on matrix units, so that the stage runs a 192nd of each table (of those of attention a
# 384th), one golden file of each system, and random graphs on every kernel variant. Trainings, gradients of goldens,
# decoders, products by multiples of scales and attention that is cut, minutes of its compiler for kernels that the others run, are left
# out.
about="tables, goldens and random graphs on Mesa 26's lavapipe, its matrix units forced on"
needs="build"
stage() {
  is_to_be_had lavapipe-26 || return
  local settings=("HEED_RANDOM_CASES=${HEED_RANDOM_CASES:-40}" HEED_TEST_DEVICES=llvmpipe GALLIVM_PERF=nopt)
  check_catch "tables on lavapipe-26" env HEED_TEST_EVERY=192 "${settings[@]}" "$with" lavapipe-26 "$tests" \
    '"*on every device"~"goldens*"~"attention*"~"decoder*"~[train]~[reproducible]~"quantized weights by multiples*",[one_golden_each]~"goldens: gradients*",[random]~"gradients are what*",[matrix],[drivers]~[slow],adopt*'
  check_catch "attention on lavapipe-26" env HEED_TEST_EVERY=384 "${settings[@]}" "$with" lavapipe-26 "$tests" "attention on every*,attention beside*,attention with biases*,attention_backward on*"
}
