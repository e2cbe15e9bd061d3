#!/usr/bin/env bash
# Packs all that is needed to test heed on a machine with an NVIDIA GPU into one archive of under 60 MB: tests with their data
# files, the program `heed`, the programs that time it, the Vulkan loader, and a comparison with PyTorch. The machine needs an
# NVIDIA driver and python3, and for the comparison torch; it needs no compiler, no shader compiler and no Vulkan loader.
#   tests/gpu/nvidia.sh [--ggml] [ARCHIVE]   default: build/heed-nvidia.tar.xz. There: tar xf ARCHIVE && heed-nvidia/run.sh,
#                                            or without xz: python3 -m tarfile -e ARCHIVE && bash heed-nvidia/run.sh
#   tests/gpu/nvidia.sh [--ggml] --dry-run   packs, unpacks and runs it here on lavapipe, with small rows and a few tests
#   --ggml   also packs ggml's Vulkan backend of Debian sid, with sid's C library, to be timed beside heed
# Needs a build (HEED_BUILD, default build/) with tests and samples, and the targets heed_times, heed_sweep, heed_frames and heed_pipelines.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "${HEED_BUILD:-$root/build}" && pwd)
dry=0 ggml=0 archive=$build/heed-nvidia.tar.xz
for word in "$@"; do
  case $word in
    --dry-run) dry=1 ;;
    --ggml) ggml=1 ;;
    -*) echo "unknown argument '$word'; see the head of this file" >&2; exit 2 ;;
    *) archive=$word ;;
  esac
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bundle=$work/heed-nvidia
mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/spare"
for program in tests/heed_tests tests/bench/heed_rows tests/heed_times tests/heed_sweep tests/heed_frames tests/heed_pipelines \
               samples/heed/heed; do
  [[ -x $build/$program ]] || { echo "no $build/$program; build heed first" >&2; exit 2; }
  cp "$build/$program" "$bundle/bin/"
done
strip "$bundle"/bin/*
# Copies the loader and the libraries that the programs link to. The C and C++ libraries must be the machine's own.
ldd "$bundle"/bin/* | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
  grep -v -E '/(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so' | xargs -r cp -L -t "$bundle/lib"
library() { ldconfig -p | awk -v name="$1" '$1 == name && /x86-64/ && !found++ { print $NF }'; }
loader=$(library libvulkan.so.1)
[[ -n $loader ]] || { echo "no libvulkan.so.1 here to pack (package libvulkan1)" >&2; exit 2; }
cp -L "$loader" "$bundle/lib/libvulkan.so.1"
# NVIDIA's driver links to window-system libraries that containers often lack, and does not load without them.
for name in libGLdispatch.so.0 libGLX.so.0 libEGL.so.1 libX11.so.6 libXext.so.6 libxcb.so.1 libXau.so.6 libXdmcp.so.6 libbsd.so.0 libmd.so.0; do
  place=$(library "$name")
  [[ -z $place ]] || cp -L "$place" "$bundle/spare/$name"
done
# The tests read these files at run time.
git -C "$root" ls-files tests samples/learn/genesis.txt | grep -v -E '\.(cpp|hpp|h|c|cmake|comp|md|sh|py)$|^tests/(gpu|search)/|CMakeLists' |
  (cd "$root" && xargs cp --parents -t "$bundle")
cp "$root"/tests/gpu/{run.sh,run_tests.py,times.py,compare.py,torch_rows.py} "$bundle/"
cp "$root"/tests/gpu/profile/{measured.py,model.py,table.py,machines.json,h100.csv} "$root/tests/gpu/card/sweep.py" "$bundle/"
git -C "$root" rev-parse HEAD >"$bundle/commit" 2>/dev/null || echo unknown >"$bundle/commit"

if [[ $ggml -eq 1 ]]; then
  # shellcheck source=tests/gpu/peer/sid.sh
  source "$root/tests/gpu/peer/sid.sh"
  unpack_sid
  mkdir "$bundle/ggml"
  cp "$libraries/ggml/backends0/libggml-vulkan.so" "$bundle/ggml/"
  build_ggml_work "$bundle/ggml/ggml_work"
  cp -L "$(find "$HEED_DEBIAN_ROOT/usr/lib" "$HEED_DEBIAN_ROOT/usr/lib64" -name 'ld-linux-*.so.*' | head -n 1)" "$bundle/ggml/ld.so"
  for file in "$bundle"/ggml/{ggml_work,libggml-vulkan.so}; do
    "$bundle/ggml/ld.so" --library-path "$libraries" --list "$file"
  done | awk '$1 !~ /\// && $2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | xargs cp -L -t "$bundle/ggml"
  # The driver links to these libraries, which belong to the same C library.
  for name in libpthread.so.0 librt.so.1 libdl.so.2; do cp -L "$libraries/$name" "$bundle/ggml/"; done
fi

tar -C "$work" -cf - heed-nvidia | xz -9 >"$archive"  # its window finds what the programs share
size=$(stat -c %s "$archive")
echo "$archive: $((size / 1000)) kB"
[[ $size -lt 60000000 ]] || { echo "FAIL the archive is over 60 MB" >&2; exit 1; }
[[ $dry -eq 1 ]] || exit 0
rm -rf "$bundle"
tar -C "$work" -xJf "$archive"
"$root/tests/drivers/with.sh" lavapipe env HEED_GPU=llvmpipe HEED_GPU_ROWS=small HEED_GPU_SECONDS=900 "$bundle/run.sh" "$build/heed-nvidia"
