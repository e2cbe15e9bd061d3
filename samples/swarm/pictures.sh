#!/usr/bin/env bash
# Draws the pictures of the README and the reference pictures of the tests again, on lavapipe. Takes some minutes.
#   pictures.sh [reference|readme]     default: both
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
swarm=("$root/tests/drivers/with.sh" lavapipe-256 "$root/build/samples/swarm/swarm" --headless)
what=${1:-both}
"$root/tests/drivers/install.sh" swarm
[[ -x $root/build/samples/swarm/swarm ]] || { echo "first build it: samples/run.sh swarm --help" >&2; exit 1; }

if [[ $what != readme ]]; then
  mkdir -p "$here/reference"
  for flavour in flock conga cross; do
    "${swarm[@]}" --overlay none --size 480x272 --agents 200 --targets 24 --flavour $flavour --frames 45 \
      --png "$here/reference/$flavour.png"
  done
fi
if [[ $what != reference ]]; then
  picture() { "${swarm[@]}" --overlay legend --size 640x360 --flavour "$@"; }
  picture flock --agents 600 --frames 170 --png "$here/flock.png"
  picture conga --agents 480 --frames 260 --png "$here/conga.png"
  "${swarm[@]}" --overlay legend --size 960x540 --learn --agents 384 --hunters 6 --seed 2 --frames 1500 \
    --png "$here/learn/learn.png"
  picture cross --agents 560 --targets 40 --frames 180 --png "$here/cross.png"
fi
