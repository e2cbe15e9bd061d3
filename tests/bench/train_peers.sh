#!/usr/bin/env bash
# Compares training on heed's CPU device with PyTorch: a step (forward, backward, AdamW) of a causal model, and the gradient of attention;
# then prints the times of the step's passes, on the CPU and on Mesa 26's lavapipe. Installs what is missing
# (Debian packages, with apt), builds heed and its peer program into build/, and prints tables. Last lines:
#   step: heed X ms, PyTorch Y ms, ratio R, S % of the multiply-add peak
#   backward of attention: heed X ms, PyTorch Y ms, ratio R, F times heed's forward
#   lavapipe-26: backward B times the forward part
# Exit code: 0; 1 if an aim is missed (see README.md); 2 if nothing could be measured.
#
#   train_peers.sh [--no-lavapipe]
#
#   HEED_PEER_THREADS   default: 2
#   HEED_PEER_ROUNDS    default: 5
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/build
threads=${HEED_PEER_THREADS:-2}
log=$build/train-peers.log
mkdir -p "$build"
: >"$log"

# Without OpenBLAS PyTorch runs on the reference BLAS.
if ! dpkg -s python3-torch libopenblas0-pthread >/dev/null 2>&1; then
  sudo=()
  [[ $(id -u) -eq 0 ]] || sudo=(sudo -n)
  "${sudo[@]}" apt-get install -y --no-install-recommends python3-torch libopenblas0-pthread >>"$log" 2>&1 || {
    echo "PyTorch is not to be had (see $log)"
    exit 2
  }
fi
"$here/build.sh" "$build" heed_train_peer >>"$log" 2>&1 || {
  tail -n 20 "$log"
  echo "heed could not be built (all of it: $log)"
  exit 2
}

# Peers run in a clean environment; PyTorch's threads and those of its BLAS disturb each other unless they wait passively.
clean="env -i PATH=/usr/bin:/bin HOME=$HOME"
peer=$build/tests/bench/heed_train_peer
status=0
python3 "$here/peers/compare.py" "$threads" "${HEED_PEER_ROUNDS:-5}" \
  "heed=$clean ${HEED_CPU_TARGET:+HEED_CPU_TARGET=$HEED_CPU_TARGET} $peer $threads" \
  "PyTorch=$clean OMP_NUM_THREADS=$threads OMP_WAIT_POLICY=passive /usr/bin/python3 $here/peers/torch_train_peer.py $threads" \
  -- "step 8 256 f32" "forward 512 f32" "backward 512 f32" || status=$?
[[ $status -le 1 ]] || exit 2

echo
"$peer" "$threads" passes 8 256 5 | tail -n 1
[[ ${1:-} == --no-lavapipe ]] && exit "$status"
on_lavapipe=$(HEED_TRAIN_DEVICE=llvmpipe "$root/tests/drivers/with.sh" lavapipe-26 "$peer" "$threads" passes 8 256 1 |
  tail -n 1)
echo "$on_lavapipe"
python3 - "$on_lavapipe" <<'PY' || status=1
import re, sys
found = re.search(r"\(([\d.]+) x\)", sys.argv[1])
if not found:
    raise SystemExit("lavapipe-26: nothing was measured")
print(f"lavapipe-26: backward {found[1]} times the forward part")
raise SystemExit(float(found[1]) > 2.2)
PY
exit "$status"
