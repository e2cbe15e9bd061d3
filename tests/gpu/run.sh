#!/usr/bin/env bash
# Judges heed on this machine's GPU: first whether it is right, then how fast it is beside PyTorch. Part of the archive
# that nvidia.sh makes.
#   run.sh [RESULT.json]       default: heed-DATE.json here
#   HEED_GPU                   part of the device's name as `heed devices` tells it; default nvidia
#   HEED_GPU_ROWS=small        rows that a software driver can do, to try this script
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
gpu=${HEED_GPU:-nvidia}
result=${1:-heed-$(date +%Y-%m-%d).json}
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export HEED_VULKAN_LOADER=$here/lib/libvulkan.so.1
if [[ -z ${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-} ]]; then
  # Containers keep the driver's description where the loader does not look.
  for icd in /usr/share/vulkan/icd.d/nvidia_icd.json /etc/vulkan/icd.d/nvidia_icd.json \
             /usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json; do
    if [[ -r $icd ]]; then export VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd; break; fi
  done
fi
"$here/bin/heed" devices

echo "== correctness"
status=0
"$here/bin/heed" verify --device "$gpu" "$here/goldens" >"$here/verify.log" 2>&1 || status=1
tail -n 1 "$here/verify.log"
HEED_TEST_DEVICES=$gpu "$here/bin/heed_tests" "*on every device" >"$here/tests.log" 2>&1 || status=1
tail -n 3 "$here/tests.log"
[[ $status -eq 0 ]] || { echo "FAIL results are wrong, so nothing is timed: $here/verify.log, $here/tests.log"; exit 1; }

echo "== time"
if [[ ${HEED_GPU_ROWS:-} == small ]]; then
  rows=(matmul:f32:64x64x64 matmul:f16:64x64x64 attention:f32:2x64x64 attention:f16:2x64x64:causal softmax:f32:64x64
        layernorm:f32:64x64 add:f32:64x64 matmul:bf16:64x64x64)
else
  rows=(matmul:f32:4096x4096x4096 matmul:f16:4096x4096x4096 matmul:f16:8192x8192x8192 matmul:f16:1x4096x4096
        matmul:f32:1x4096x4096 attention:f16:16x4096x128 attention:f16:16x4096x128:causal attention:f16:16x16384x128
        attention:f16:16x16384x128:causal attention:f32:16x4096x128 softmax:f32:32768x2048 softmax:f16:32768x2048
        layernorm:f32:32768x2048 layernorm:f16:32768x2048 add:f32:32768x2048 add:f16:32768x2048
        encoder:f32:512 encoder:f16:512 encoder:f16:4096 matmul:bf16:4096x4096x4096 attention:bf16:16x4096x128
        layernorm:bf16:32768x2048 encoder:bf16:512)
fi
"$here/bin/heed_rows" "$gpu" 2 "${rows[@]}" 2>"$here/heed.device" | tee "$here/heed.tsv"
cat "$here/heed.device"
python3 "$here/torch_rows.py" 2 "${rows[@]}" 2>"$here/torch.device" >"$here/torch.tsv" || true
cat "$here/torch.device"
python3 "$here/compare.py" "$here" "$result"
