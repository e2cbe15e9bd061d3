# Registers, spills, occupancy and instructions of every kernel on GPUs of several makers, which need not be there.
about="kernels as the compilers for AMD's, NVIDIA's, Apple's and Qualcomm's GPUs make them"
needs="samples"
stage() { check_lines "tests/gpu/isa.sh" "$root/tests/gpu/isa.sh"; }
