#!/usr/bin/env bash
# Tests and times heed on this machine's GPU. Part of the archive that nvidia.sh makes.
#   run.sh [FOLDER [PART...]]  default: all parts, and heed-DATE here for logs and results
#   HEED_GPU                   part of the device's name in `heed devices`; default nvidia
#   HEED_GPU_SECONDS           seconds for everything, of which tests get two fifths at most; default 600
#   HEED_GPU_ROWS=small        a share that a software driver can run, to try this script
# PART, in this order, each while time is left:
#   tests    whether heed's results are right
#   sweep    every kernel and tile on the works of tests/gpu/profile, and probes of what kernels wait for (heed_sweep)
#   frames   a renderer's frames while characters are silent, speak by heed and, if the archive has it, by ggml
#   works    those works with uploads and downloads, beside ggml and the model's predictions
#   rows     times beside PyTorch
#   kernels  statistics of the driver's compiler for every kernel
# Exit code 1: a test failed; times are measured nevertheless.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-heed-$(date +%Y-%m-%d)}
shift
parts=${*:-tests sweep frames works rows kernels}
small=${HEED_GPU_ROWS:-}
seconds=${HEED_GPU_SECONDS:-600}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cp "$here/commit" "$out/"
for spare in "$here"/spare/*; do
  grep -q "${spare##*/} .*x86-64" <<<"$(ldconfig -p)" || ln -sf "$spare" "$here/lib/"
done
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export HEED_VULKAN_LOADER=$here/lib/libvulkan.so.1
export HEED_TEST_ROOT=$here
if [[ -z ${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-} ]]; then
  # Containers put the driver's manifest where the loader does not look.
  for icd in /usr/share/vulkan/icd.d/nvidia_icd.json /etc/vulkan/icd.d/nvidia_icd.json \
             /usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json; do
    if [[ -r $icd ]]; then export VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd; break; fi
  done
fi
"$here/bin/heed" devices -v >"$out/devices.txt" 2>&1
"$here/bin/heed" devices
nvidia-smi >"$out/smi.txt" 2>&1 || true
# Uses the whole name, since a part of it also selects one of the interpreter's devices, 'spirv:nvidia'.
gpu=$("$here/bin/heed" devices | grep -i -- "${HEED_GPU:-nvidia}" | awk '$2 ~ /^vulkan:/ && !found++ { print $2 }')
[[ -n $gpu ]] || { echo "FAIL no Vulkan device whose name has '${HEED_GPU:-nvidia}' in it"; exit 1; }

status=0
fail() { echo "FAIL $*"; status=1; }
left() { echo $((seconds > SECONDS ? seconds - SECONDS : 0)); }
# Whether a part is wanted and there is time for it.
is_part() {
  [[ " $parts " == *" $1 "* ]] || return 1
  [[ $(left) -ge 5 ]] || { echo "$1: no time is left of $seconds s (HEED_GPU_SECONDS)"; return 1; }
}
# Ends a command when the time is up.
within() { timeout "$(left)" "$@"; }

if is_part tests; then
  echo "== correctness of $gpu"
  goldens=$here/tests/goldens
  share=$seconds
  [[ $parts == tests ]] || share=$((seconds * 2 / 5))
  # Leaves out the test that needs the validation layer.
  specs=("~[reproducible]*on every device=$gpu" "[random]~[reproducible]~[cpu]~\"compositions in a host*\"=$gpu"
         "[reproducible]~[language_model]=$gpu,cpu")
  if [[ $small == small ]]; then
    specs=("rotary on every device=$gpu" "Philox4x32-10*=$gpu" "reproducible: f16 and bf16 are*=$gpu,cpu")
    goldens=$goldens/000_single_head_toy.safetensors
    export HEED_TEST_EVERY=24
  fi
  "$here/bin/heed" verify --device "$gpu" "$goldens" >"$out/verify.log" 2>&1 || fail "goldens: $out/verify.log"
  tail -n 1 "$out/verify.log"
  python3 "$here/run_tests.py" "$here/bin/heed_tests" "$out/tests" "$share" "${specs[@]}" ||
    fail "tests: $out/tests"
fi

# Runs ggml for works, with the C library that it was linked with: ggml FILE SECONDS WORK...
ggml() {
  local file=$1 each=$2 folders
  shift 2
  folders=$(ldconfig -p | awk '/x86-64/ && /libGLX_nvidia\.so\.0|libX11\.so\.6|libc\.so\.6/ { sub("/[^/]*$", "", $NF); print $NF }' |
    sort -u | paste -sd :)
  env -u LD_LIBRARY_PATH GGML_VK_VISIBLE_DEVICES="${GGML_VK_VISIBLE_DEVICES:-0}" timeout "$(left)" python3 "$here/times.py" "$file" "$each" "$here/ggml/ld.so" \
    --library-path "$here/ggml:$folders:/usr/local/nvidia/lib64:$here/lib" "$here/ggml/ggml_work" "$here/ggml" --seconds "$each" "$@" ||
    echo "ggml did not end well: $file.log"
}

if is_part sweep; then
  echo "== every kernel and tile"
  sweep=(50)
  [[ $small != small ]] || sweep=(1 --small "layernorm" "product f32 8x" stairs depth lines launch)
  within "$here/bin/heed_sweep" "$gpu" "${sweep[@]}" >"$out/sweep.csv" 2>"$out/sweep.log" || fail "heed_sweep: $out/sweep.log"
  python3 "$here/sweep.py" "$out/sweep.csv" | tee "$out/sweep.txt"
fi

if is_part frames; then
  echo "== frames"
  frames=(8)
  [[ $small != small ]] || frames=(0.2 --size 64x36 --layers 2 --work "layernorm f32 512x768")
  within "$here/bin/heed_frames" "$gpu" "${frames[@]}" silent heed whole >"$out/frames.csv" 2>"$out/frames.log" ||
    fail "heed_frames: $out/frames.log"
  if [[ -d $here/ggml ]]; then
    layers=$(awk -F, '$1 == "silent" { print $2 }' "$out/frames.csv")
    ggml "$out/ggml_frames.csv" 12 "smollm2 q4_1" &
    beside=$!
    sleep 3  # waits until it speaks
    within "$here/bin/heed_frames" "$gpu" "${frames[@]}" --layers "${layers:-1}" beside 2>>"$out/frames.log" | tail -n 1 >>"$out/frames.csv"
    wait "$beside"
  fi
  cat "$out/frames.csv"
fi

if is_part works; then
  echo "== works, in microseconds"
  works=()
  [[ $small != small ]] || works=(layernorm)
  within python3 "$here/times.py" "$out/heed.csv" 0.3 "$here/bin/heed_times" "$gpu" 0.3 "${works[@]}" || fail "heed_times: $out/heed.csv.log"
  files=("$out/heed.csv")
  if [[ -d $here/ggml ]]; then
    # Only heed has matmuls that emulate f32, and training.
    mapfile -t works < <(tail -n +2 "$out/heed.csv" | cut -d, -f2 | grep -v -E '(emulated|rounded|rounded to bytes)$|^training')
    GGML_VK_PERF_LOGGER=1 ggml "$out/ggml.csv" 0.3 "${works[@]}"
    # Runs without the logger, which waits after each kernel. For whole works the host's clock counts.
    ggml "$out/ggml_wall.csv" 0.3 "${works[@]}"
    files+=("$out/ggml.csv" "$out/ggml_wall.csv")
  fi
  name=$("$here/bin/heed" devices | awk -v word="$gpu" '$2 == word')
  python3 "$here/measured.py" "$name" "${files[@]}" | tee "$out/table.md"
  # There are no predictions for GPUs without a model in machines.json.
  python3 "$here/model.py" "$name" "$here/h100.csv" "$out/heed.csv" >"$out/model.md" 2>"$out/model.log" && cat "$out/model.md"
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
  within "$here/bin/heed_rows" "$gpu" 2 "${rows[@]}" >"$out/heed.tsv" 2>"$out/heed.device" || fail "heed_rows: $out/heed.device"
  cat "$out/heed.device"
  within python3 "$here/torch_rows.py" 2 "${rows[@]}" 2>"$out/torch.device" >"$out/torch.tsv" || true
  cat "$out/torch.device"
  python3 "$here/compare.py" "$out" "$out/rows.json" || status=1
fi

if is_part kernels && [[ $small != small ]]; then
  echo "== kernels, by the driver's compiler"
  for part in {0..4}; do
    within "$here/bin/heed_pipelines" nvidia - "$part" >"$out/kernels-$part.csv" 2>"$out/kernels-$part.log" &
  done
  wait
  cat "$out"/kernels-?.csv >"$out/kernels.csv"
  awk -F, '$13 ~ /^[0-9]/ { ++all; kept += $13 > 0 } END { print all + 0 " kernels, of which " kept + 0 " keep something in memory" }' "$out/kernels.csv"
fi
echo "results and logs: $out"
exit $status
