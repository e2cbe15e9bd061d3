# Goldens with extents below their maxima and one of each system at them, a sixteenth of each table and random graphs on machines
# that differ in subgroups and matrix units (tests/interpreter/device.hpp). Finds races, accesses outside of what is bound, reads of
# memory that nobody has written and missing barriers in the kernels of GPUs that are not here. The quick tier takes a sixtieth of
# each table, and no decoder.
# These commands run everything on one of the machines, and list the barriers that nobody would miss:
#   HEED_TEST_DEVICES=spirv:nvidia tests/drivers/with.sh none build/tests/heed_tests "[ops],[goldens],[random]"
#   HEED_MUTATIONS=100 tests/drivers/with.sh none build/tests/heed_tests "interpreter: kernels without*"
about="kernels on an interpreter of SPIR-V, with the capabilities of GPUs"
needs="build"
stage() {
  local part on_machines=(env HEED_TEST_DEVICES=spirv HEED_RANDOM_CASES=100 HEED_COMPOSITIONS=20 "$with" none "$tests")
  if [[ $quick -eq 1 ]]; then
    # Tables from their second case on, which spares the large product among each 60.
    check_catch "some of the tables on interpreted kernels" env HEED_TEST_EVERY=60+1 "${on_machines[@]}" \
      '"*on every device"~"goldens*"~"compositions*"~"gradients are what*"~"remat*"~"decoder*"~"models in*"~[reproducible]'
    return
  fi
  check_catch "faults put into kernels are noticed" "${on_machines[@]}" "[interpreter]"
  check_catch "goldens and random graphs on interpreted kernels" "${on_machines[@]}" \
    "goldens: one of each system passes*,goldens: pass with*,random graphs on every*,compositions of operations*"
  check_catch "tables on interpreted kernels" env HEED_TEST_EVERY=16+2 "${on_machines[@]}" \
    '"*on every device"~"goldens*"~"compositions*"~[reproducible]'
  for part in $(grep -a -o 'spirv:[a-z0-9]*' "$log" | sort -u); do echo "   on $part"; done
}
