# shellcheck shell=bash
# Mesa and ggml of Debian sid, for the scripts that source this file after setting `root`.

# Unpacks Mesa and ggml into the folder of drivers. Sets HEED_DEBIAN_ROOT, and `libraries` to the folder of its libraries. Fails if they
# cannot be fetched.
unpack_sid() {
  local folder=${HEED_DRIVER_FOLDER:-$root/build/drivers}/sid
  "$root/tests/drivers/debian_root.sh" "$folder" sid \
    "mesa-vulkan-drivers mesa-drm-shim libvulkan1 libstdc++6 linux-libc-dev libggml-dev libggml0-backend-vulkan" || return
  HEED_DEBIAN_ROOT=$(cd "$folder" && pwd)
  export HEED_DEBIAN_ROOT
  libraries=$(dirname "$(find "$HEED_DEBIAN_ROOT/usr/lib" -name libvulkan_radeon.so | head -n 1)")
}

# build_ggml_work PROGRAM
build_ggml_work() {
  g++ -std=c++20 -O2 -isystem "$HEED_DEBIAN_ROOT/usr/include" "$root/tests/gpu/peer/ggml_work.cpp" -o "$1" -L"$libraries" \
    -lggml -lggml-base -Wl,--allow-shlib-undefined
}
