# Registers, spills, occupancy and instructions of each third kernel on a GPU of each maker, which need not be there, since
# kernels beside each other in the list are one shader with other constants. tests/gpu/isa.sh alone looks at all, and at three
# more generations of AMD's.
about="kernels as the compilers for AMD's, NVIDIA's, Apple's and Qualcomm's GPUs make them"
needs="samples"
stage() { check_lines "tests/gpu/isa.sh" "$root/tests/gpu/isa.sh" --one; }
