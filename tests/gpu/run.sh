#!/usr/bin/env bash
# Judges heed on this machine's GPU: whether it is right, how fast it is beside PyTorch, and how long it takes for the works of
# tests/gpu/profile, beside ggml where the archive has it. Part of the archive that nvidia.sh makes.
#   run.sh [FOLDER [PART...]]  PART: tests, rows, works or kernels; default: all of them, and heed-DATE here for logs and results
#   HEED_GPU                   part of the device's name as `heed devices` tells it; default nvidia
#   HEED_GPU_SECONDS           that the tests may take together; default 900
#   HEED_GPU_ROWS=small        what a software driver can do, to try this script
# Exit code 1: something is wrong; it is timed all the same.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-heed-$(date +%Y-%m-%d)}
shift
parts=${*:-tests rows works kernels}
small=${HEED_GPU_ROWS:-}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cp "$here/commit" "$out/"
for spare in "$here"/spare/*; do
  ldconfig -p | grep -q "${spare##*/} .*x86-64" || ln -sf "$spare" "$here/lib/"
done
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export HEED_VULKAN_LOADER=$here/lib/libvulkan.so.1
export HEED_TEST_ROOT=$here
if [[ -z ${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-} ]]; then
  # Containers keep the driver's description where the loader does not look.
  for icd in /usr/share/vulkan/icd.d/nvidia_icd.json /etc/vulkan/icd.d/nvidia_icd.json \
             /usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json; do
    if [[ -r $icd ]]; then export VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd; break; fi
  done
fi
"$here/bin/heed" devices -v >"$out/devices.txt" 2>&1
"$here/bin/heed" devices
nvidia-smi >"$out/smi.txt" 2>&1 || true
# Its whole word, since tests take whatever has a part in its word: one of the interpreter's devices is called 'spirv:nvidia'.
gpu=$("$here/bin/heed" devices | grep -i -- "${HEED_GPU:-nvidia}" | awk '$2 ~ /^vulkan:/ && !found++ { print $2 }')
[[ -n $gpu ]] || { echo "FAIL no Vulkan device whose name has '${HEED_GPU:-nvidia}' in it"; exit 1; }

status=0
is_part() { [[ " $parts " == *" $1 "* ]]; }
fail() { echo "FAIL $*"; status=1; }

if is_part tests; then
  echo "== correctness of $gpu"
  goldens=$here/tests/goldens
  # Without the one that needs the validation layer.
  specs=("~[reproducible]*on every device=$gpu" "[random]~[reproducible]~[cpu]~\"compositions in a host*\"=$gpu"
         "[reproducible]~[language_model]=$gpu,cpu")
  if [[ $small == small ]]; then
    specs=("rotary on every device=$gpu" "Philox4x32-10*=$gpu" "reproducible: f16 and bf16 are*=$gpu,cpu")
    goldens=$goldens/000_single_head_toy.safetensors
    export HEED_TEST_EVERY=24
  fi
  "$here/bin/heed" verify --device "$gpu" "$goldens" >"$out/verify.log" 2>&1 || fail "goldens: $out/verify.log"
  tail -n 1 "$out/verify.log"
  python3 "$here/run_tests.py" "$here/bin/heed_tests" "$out/tests" "${HEED_GPU_SECONDS:-900}" "${specs[@]}" ||
    fail "tests: $out/tests"
fi

if is_part rows; then
  echo "== rows beside PyTorch"
  rows=(matmul:f32:4096x4096x4096 matmul:f16:4096x4096x4096 matmul:f16:8192x8192x8192 matmul:f16:1x4096x4096
        matmul:f32:1x4096x4096 attention:f16:16x4096x128 attention:f16:16x4096x128:causal attention:f16:16x16384x128
        attention:f16:16x16384x128:causal attention:f32:16x4096x128 softmax:f32:32768x2048 softmax:f16:32768x2048
        layernorm:f32:32768x2048 layernorm:f16:32768x2048 add:f32:32768x2048 add:f16:32768x2048
        encoder:f32:512 encoder:f16:512 encoder:f16:4096 matmul:bf16:4096x4096x4096 attention:bf16:16x4096x128
        layernorm:bf16:32768x2048 encoder:bf16:512)
  [[ $small != small ]] ||
    rows=(matmul:f32:64x64x64 matmul:f16:64x64x64 attention:f32:2x64x64 attention:f16:2x64x64:causal softmax:f32:64x64
          layernorm:f32:64x64 add:f32:64x64 matmul:bf16:64x64x64)
  "$here/bin/heed_rows" "$gpu" 2 "${rows[@]}" >"$out/heed.tsv" 2>"$out/heed.device" || fail "heed_rows: $out/heed.device"
  cat "$out/heed.device"
  python3 "$here/torch_rows.py" 2 "${rows[@]}" 2>"$out/torch.device" >"$out/torch.tsv" || true
  cat "$out/torch.device"
  python3 "$here/compare.py" "$out" "$out/rows.json" || status=1
fi

# Runs ggml for works, with the C library that it was linked with: ggml FILE WORK...
ggml() {
  local file=$1 folders
  shift
  folders=$(ldconfig -p | awk '/x86-64/ && /libGLX_nvidia\.so\.0|libX11\.so\.6|libc\.so\.6/ { sub("/[^/]*$", "", $NF); print $NF }' |
    sort -u | paste -sd :)
  env -u LD_LIBRARY_PATH GGML_VK_VISIBLE_DEVICES="${GGML_VK_VISIBLE_DEVICES:-0}" python3 "$here/times.py" "$file" 0.3 "$here/ggml/ld.so" \
    --library-path "$here/ggml:$folders:/usr/local/nvidia/lib64:$here/lib" "$here/ggml/ggml_work" "$here/ggml" --seconds 0.3 "$@" ||
    echo "ggml did not end well: $file.log"
}

if is_part works; then
  echo "== works, in microseconds"
  works=()
  [[ $small != small ]] || works=(layernorm)
  python3 "$here/times.py" "$out/heed.csv" 0.3 "$here/bin/heed_times" "$gpu" 0.3 "${works[@]}" || fail "heed_times: $out/heed.csv.log"
  files=("$out/heed.csv")
  if [[ -d $here/ggml ]]; then
    # Products that emulate f32 and training are heed's alone.
    mapfile -t works < <(tail -n +2 "$out/heed.csv" | cut -d, -f2 | grep -v -E '(emulated|rounded|rounded to bytes)$|^training')
    GGML_VK_PERF_LOGGER=1 ggml "$out/ggml.csv" "${works[@]}"
    # Without the logger, which waits for each kernel: of whole works the host's clock counts.
    ggml "$out/ggml_wall.csv" "${works[@]}"
    files+=("$out/ggml.csv" "$out/ggml_wall.csv")
  fi
  python3 "$here/measured.py" "$gpu" "${files[@]}" | tee "$out/table.md"
fi

if is_part kernels && [[ $small != small ]]; then
  echo "== kernels, by the driver's compiler"
  for part in {0..4}; do
    "$here/bin/heed_pipelines" nvidia - "$part" >"$out/kernels-$part.csv" 2>"$out/kernels-$part.log" &
  done
  wait
  cat "$out"/kernels-?.csv >"$out/kernels.csv"
  awk -F, '$13 ~ /^[0-9]/ { ++all; kept += $13 > 0 } END { print all + 0 " kernels, of which " kept + 0 " keep something in memory" }' "$out/kernels.csv"
fi
echo "results and logs: $out"
exit $status
