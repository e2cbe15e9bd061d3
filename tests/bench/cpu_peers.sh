#!/usr/bin/env bash
# Compares heed's CPU device with oneDNN, onnxruntime, ncnn and PyTorch: the same works with the same weights, in turn, in one
# run. Installs what is missing (Debian packages with apt; wheels from PyPI into .cache/cpu-peers), builds heed and the
# peer programs into build/, and prints a table of times, ratios and shares of the measured peak. Last line:
#   encoder 1x128: heed X ms, best peer Y ms (NAME), ratio R
# Exit code: 0; 1 if the ratio to oneDNN is below 1.0 or that to another peer below 1.15; 2 if nothing could be
# measured.
#
#   cpu_peers.sh [WORK...]      default: all works. A work is one argument: "encoder 1 128 f32" (see peers/works.hpp)
#
#   HEED_PEER_THREADS   default: 2
#   HEED_PEER_ROUNDS    default: 5
#   HEED_PEERS          default: "oneDNN onnxruntime ncnn PyTorch", as far as they can be installed
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/build
venv=$root/.cache/cpu-peers
threads=${HEED_PEER_THREADS:-2}
read -ra wanted <<<"${HEED_PEERS:-oneDNN onnxruntime ncnn PyTorch}"
log=$build/cpu-peers.log

works=("$@")
if [[ $# -eq 0 ]]; then
  for tokens in 16 128 512; do works+=("encoder 1 $tokens f32"); done
  works+=("encoder 8 128 f32" "encoder 1 128 bf16" "encoder 1 512 bf16" "decode 128 f32" "decode 512 f32" "decode 512 bf16")
  for tokens in 128 512 2048; do works+=("attention $tokens full f32" "attention $tokens causal f32"); done
  for m in 1 4 16 128 512; do works+=("matmul $m 3072 768 f32" "matmul $m 768 3072 f32"); done
  works+=("conv1d 3000 80 384 1 f32" "conv1d 3000 384 384 2 f32" "patches 224 f32")
  works+=("matmul 1 16384 8192 f32" "matmul 1 16384 8192 bf16" "matmul 128 3072 768 bf16")
fi

mkdir -p "$build" "$(dirname "$venv")"
: >"$log"

apt_install() {
  dpkg -s "$@" >/dev/null 2>&1 && return
  command -v apt-get >/dev/null || return 1
  local sudo=()
  [[ $(id -u) -eq 0 ]] || sudo=(sudo -n)
  "${sudo[@]}" apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1
}

# Tries to install a peer. Succeeds if it is available.
have() {
  case $1 in
    oneDNN) apt_install libdnnl-dev && "$here/build.sh" "$build" heed_onednn_peer >>"$log" 2>&1 ;;
    PyTorch) apt_install python3-torch libopenblas0-pthread ;;  # without OpenBLAS it runs on the reference BLAS
    onnxruntime) wheels onnxruntime onnx ;;
    ncnn) wheels ncnn ;;
    *) return 1 ;;
  esac
}
wheels() {
  apt_install python3-venv || true
  [[ -x $venv/bin/python ]] || /usr/bin/python3 -m venv "$venv" >>"$log" 2>&1 || return 1
  local name missing=0
  for name in "$@"; do "$venv/bin/python" -c "import $name" 2>/dev/null || missing=1; done
  [[ $missing -eq 1 ]] || return 0
  "$venv/bin/pip" install --quiet --disable-pip-version-check numpy "$@" >>"$log" 2>&1
}

"$here/build.sh" "$build" heed_cpu_peer >>"$log" 2>&1 || {
  tail -n 20 "$log"
  echo "heed could not be built (all of it: $log)"
  exit 2
}

# Peers run in a clean environment, since variables such as OPENBLAS_CORETYPE halve the speed of some. PyTorch's threads and those of its
# BLAS disturb each other unless they wait passively.
clean="env -i PATH=/usr/bin:/bin HOME=$HOME"
peers=("heed=$clean ${HEED_CPU_TARGET:+HEED_CPU_TARGET=$HEED_CPU_TARGET} $build/tests/bench/heed_cpu_peer $threads")
for peer in "${wanted[@]}"; do
  if ! have "$peer"; then
    echo "SKIPPED: $peer is not to be had (see $log)"
    continue
  fi
  case $peer in
    oneDNN) peers+=("$peer=$clean OMP_NUM_THREADS=$threads OMP_PROC_BIND=true $build/tests/bench/heed_onednn_peer") ;;
    PyTorch) peers+=("$peer=$clean OMP_NUM_THREADS=$threads OMP_WAIT_POLICY=passive /usr/bin/python3 $here/peers/torch_peer.py $threads") ;;
    *) peers+=("$peer=$clean $venv/bin/python $here/peers/${peer}_peer.py $threads") ;;
  esac
done
[[ ${#peers[@]} -gt 1 ]] || {
  echo "no peer to compare with"
  exit 2
}
exec python3 "$here/peers/compare.py" "$threads" "${HEED_PEER_ROUNDS:-5}" "${peers[@]}" -- "${works[@]}"
