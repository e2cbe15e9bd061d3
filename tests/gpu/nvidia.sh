#!/usr/bin/env bash
# Packs everything that a machine with an NVIDIA GPU needs to judge heed there into one archive of under 60 MB: tests,
# the program `heed`, goldens, the Vulkan loader, and a comparison with PyTorch. The machine needs an NVIDIA driver, and
# for the comparison python3 with torch; no compiler, no shader compiler, no Vulkan loader.
#   tests/gpu/nvidia.sh [ARCHIVE]      default: build/heed-nvidia.tar.gz. There: tar xf ARCHIVE && heed-nvidia/run.sh
#   tests/gpu/nvidia.sh --dry-run      packs, unpacks and runs it here on lavapipe, with small rows
# Needs a build (HEED_BUILD, default build/) with tests and samples.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "${HEED_BUILD:-$root/build}" && pwd)
dry=0 archive=$build/heed-nvidia.tar.gz
case ${1:-} in
  --dry-run) dry=1 ;;
  -*) echo "unknown argument '$1'; see the head of this file" >&2; exit 2 ;;
  ?*) archive=$1 ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bundle=$work/heed-nvidia
mkdir -p "$bundle/bin" "$bundle/lib"
for program in tests/heed_tests tests/bench/heed_rows samples/heed/heed; do
  [[ -x $build/$program ]] || { echo "no $build/$program; build heed first" >&2; exit 2; }
  cp "$build/$program" "$bundle/bin/"
done
strip "$bundle"/bin/*
# Copies the libraries that the programs link to, and the loader. The C and C++ libraries must be the machine's own.
ldd "$bundle"/bin/* | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
  grep -v -E '/(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so' | xargs -r cp -L -t "$bundle/lib"
loader=$(ldconfig -p | awk '/libvulkan\.so\.1 / && !found++ { print $NF }')
[[ -n $loader ]] || { echo "no libvulkan.so.1 here to pack (package libvulkan1)" >&2; exit 2; }
cp -L "$loader" "$bundle/lib/libvulkan.so.1"
cp -r "$root/tests/goldens" "$bundle/goldens"
cp "$root/tests/gpu/run.sh" "$root/tests/gpu/compare.py" "$root/tests/gpu/torch_rows.py" "$bundle/"
git -C "$root" rev-parse HEAD >"$bundle/commit" 2>/dev/null || echo unknown >"$bundle/commit"

tar -C "$work" -czf "$archive" heed-nvidia
size=$(stat -c %s "$archive")
echo "$archive: $((size / 1000)) kB"
[[ $size -lt 60000000 ]] || { echo "FAIL the archive is over 60 MB" >&2; exit 1; }
[[ $dry -eq 1 ]] || exit 0
rm -rf "$bundle"
tar -C "$work" -xzf "$archive"
"$root/tests/drivers/with.sh" lavapipe env HEED_GPU=llvmpipe HEED_GPU_ROWS=small "$bundle/run.sh" "$build/heed-nvidia.json"
