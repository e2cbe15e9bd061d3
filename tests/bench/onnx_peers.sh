#!/usr/bin/env bash
# Compares an encoder of 12 layers from an ONNX file with the same one written with heed::nn, and on the CPU with onnxruntime, in turn, in
# one run. Gets onnxruntime (PyPI, into .cache/onnx-peers), writes the file there (0.5 GB in all), builds heed_onnx_peer into build/, and
# prints a table, the time of open, and the memory of upload.
#   onnx_peers.sh [DEVICE [TOKENS...]]   default: cpu 128; "vulkan" is for tests/drivers/with.sh lavapipe, or for a GPU
#   HEED_PEER_THREADS   default: 2
#   HEED_PEER_ROUNDS    default: 8
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
venv=$root/.cache/onnx-peers
[[ -x $venv/bin/python ]] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import onnx, onnxruntime' 2>/dev/null ||
  "$venv/bin/pip" install --quiet --disable-pip-version-check numpy onnx==1.23.2 onnxruntime==1.32.0
"$root/tests/bench/build.sh" "$root/build" heed_onnx_peer >"$root/build/onnx-peers.log"
"$venv/bin/python" "$root/tests/bench/peers/onnx_peer.py" "$root/build/tests/bench/heed_onnx_peer" "${1:-cpu}" \
  "${HEED_PEER_THREADS:-2}" "${HEED_PEER_ROUNDS:-8}" "$venv/models" "${@:2}"
