#!/usr/bin/env bash
# Times heed, ggml's Vulkan backend and ncnn side by side on one driver, Mesa 26's lavapipe, and prints a table.
#   tests/bench/peers.sh [SECONDS [ROW...]]      rows as in rows.hpp; SECONDS for each row and library
# Builds heed_rows (into build/, or HEED_BUILD). ggml comes from Debian's packages and ncnn from
# PyPI, both into build/drivers/debian-13-peers; nothing is installed. Without pip ncnn's columns stay empty.
# Measure on an idle machine: a software driver shares the processor with all other programs.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${HEED_BUILD:-$root/build}
folder=${HEED_DRIVER_FOLDER:-$root/build/drivers}/debian-13-peers
seconds=${1:-1}
rows=("${@:2}")
[[ ${#rows[@]} -gt 0 ]] || rows=(
  matmul:f32:512x3072x768 matmul:f32:512x768x3072 matmul:f32:128x768x768 matmul:f32:1x3072x768
  softmax:f32:6144x512 layernorm:f32:512x768
  attention:f32:12x512x64 attention:f32:12x512x64:causal attention:f32:12x2048x64 attention:f32:12x2048x64:causal
  encoder:f32:128)
"$root/tests/bench/build.sh" "$build" heed_rows >&2

"$root/tests/drivers/debian_root.sh" "$folder" "trixie trixie-backports" \
  "mesa-vulkan-drivers libvulkan1 libstdc++6 libggml-dev libggml0-backend-vulkan python3 python3-numpy"
folder=$(cd "$folder" && pwd)
libraries=$(dirname "$(find "$folder/usr/lib" -name libvulkan_lvp.so | head -n 1)")
loader=$(find "$folder/usr/lib" "$folder/usr/lib64" -name 'ld-linux-*.so.*' | head -n 1)
python=$(find "$folder/usr/bin" -name 'python3.[0-9]*' | head -n 1)
printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.4.0"}}\n' \
  "$libraries/libvulkan_lvp.so" >"$folder/lavapipe.json"

ggml=$build/tests/bench/ggml_rows
g++ -std=c++20 -O2 -I"$root/tests/bench" -isystem "$folder/usr/include" "$root/tests/bench/ggml_rows.cpp" -o "$ggml" \
  -L"$libraries" -lggml -lggml-base -Wl,--allow-shlib-undefined
if [[ ! -d $folder/site/ncnn ]]; then
  version=${python##*python3.}
  mkdir -p "$folder/wheels" "$folder/site"
  python3 -m pip download -q --no-deps --only-binary=:all: --python-version "3.$version" --implementation cp \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_24_x86_64 --platform manylinux2014_x86_64 \
    -d "$folder/wheels" ncnn &&
    python3 -m zipfile -e "$folder"/wheels/ncnn-*.whl "$folder/site" || echo "no ncnn" >&2
fi

# Runs a program with the unpacked Debian 13 and an empty environment.
run() {
  env -i PATH="$PATH" HOME="${HOME:-/}" VK_ICD_FILENAMES="$folder/lavapipe.json" GGML_VK_VISIBLE_DEVICES=0 \
    GGML_VK_DISABLE_F16="${disable_f16:-}" PYTHONDONTWRITEBYTECODE=1 PYTHONHOME="$folder/usr" \
    PYTHONPATH="$folder/site:$folder/usr/lib/python3/dist-packages" \
    "$loader" --library-path "$libraries" "$@"
}
time_of() { cut -f 2 | tail -n 1; }

echo "| row | heed, ms | ggml, ms | ncnn, ms | better peer / heed |"
echo "|---|---|---|---|---|"
for row in "${rows[@]}"; do
  log=$build/tests-peers.log
  ours=$(run "$build/tests/bench/heed_rows" llvmpipe "$seconds" "$row" 2>"$log" | time_of)
  # True f32, as in heed. ggml's default on this driver is f16 tiles, which are slower and less exact.
  theirs=$(disable_f16=1 run "$ggml" "$libraries/ggml/backends0" "$seconds" "$row" 2>>"$log" | time_of)
  other=-
  [[ ! -d $folder/site/ncnn ]] ||
    other=$(run "$python" "$root/tests/bench/ncnn_rows.py" "$seconds" "$row" 2>>"$log" | grep -P '\t' | time_of)
  awk -v row="$row" -v heed="${ours:--}" -v ggml="${theirs:--}" -v ncnn="${other:--}" 'BEGIN {
    best = ggml
    if (ncnn != "-" && (best == "-" || ncnn + 0 < best + 0)) best = ncnn
    ratio = heed != "-" && best != "-" ? sprintf("%.2f", best / heed) : "-"
    printf "| %s | %s | %s | %s | %s |\n", row, text(heed), text(ggml), text(ncnn), ratio
  }
  function text(ms) { return ms == "-" ? "-" : sprintf(ms < 10 ? "%.2f" : "%.1f", ms) }'
done
