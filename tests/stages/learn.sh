# The learn program: trainings that are the same at every run, also when they were interrupted, and good and bad inputs.
about="learn, with good and bad inputs, and on lavapipe"
needs="samples"
stage() {
  check_lines "samples/learn/test.sh" "$with" none "$root/samples/learn/test.sh" "$build/samples/learn/learn" "$build/learn-test"
  check "learn on lavapipe" env HEED_KERNELS=gpu "$with" lavapipe "$build/samples/learn/learn" --device llvmpipe \
    --out "$build/learn-test/lavapipe" --fresh --steps 20 --layers 1 --width 32 --heads 2 --context 32 --batch 4
}
