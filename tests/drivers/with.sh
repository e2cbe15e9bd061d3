#!/usr/bin/env bash
# Runs a command with one Vulkan driver and no other setting of the caller's Vulkan environment.
#   with.sh DRIVER COMMAND...
#   lavapipe-128|-256|-512  Mesa's software driver with vectors of that many bits (subgroups of 4, 8, 16)
#   lavapipe                the same with its own choice of width
#   lavapipe-26             lavapipe of Mesa 26 with its matrix units forced on (HEED_MATRIX_UNITS=always, unless set),
#                           and Debian 13's C library, loader and layers; fetched into build/drivers/debian-13 if need
#                           be; COMMAND must be a program, no script
#   swiftshader             SwiftShader, fetched into build/drivers/swiftshader if need be
#   none                    no Vulkan loader at all
#   system                  whatever the machine has
# With HEED_CHECK_BOUNDS=1 the layer of lavapipe-26 also checks that shaders read and write within what is bound to them
# (GPU-assisted validation), instead of how Vulkan is called: drivers in software hide such accesses, GPUs may lose the device.
# HEED_TEST_DRIVER names the driver to the tests. Exit code 3: the driver is not to be had here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
driver=${1:?usage: with.sh DRIVER COMMAND...}
shift

for name in ${!VK_@} LP_NATIVE_VECTOR_WIDTH HEED_VULKAN_LOADER; do unset "$name"; done
export HEED_TEST_DRIVER=$driver

use_icd() { export VK_ICD_FILENAMES=$1 VK_DRIVER_FILES=$1; }

drivers=${HEED_DRIVER_FOLDER:-$here/../../build/drivers}

# Runs a program with the C library and all else of an unpacked Debian 13.
exec_in_debian_13() {
  local folder loader libraries program
  "$here/debian_root.sh" "$drivers/debian-13" "trixie trixie-backports" \
    "mesa-vulkan-drivers libvulkan1 vulkan-validationlayers libstdc++6 libshaderc1"
  folder=$(cd "$drivers/debian-13" && pwd)
  libraries=$(dirname "$(find "$folder/usr/lib" -name libvulkan_lvp.so | head -n 1)")
  loader=$(find "$folder/usr/lib" "$folder/usr/lib64" -name 'ld-linux-*.so.*' | head -n 1)
  program=$(type -P "$1") || { echo "no program '$1'" >&2; exit 127; }
  shift
  printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.4.0"}}\n' \
    "$libraries/libvulkan_lvp.so" >"$folder/lavapipe.json.$$"
  mv "$folder/lavapipe.json.$$" "$folder/lavapipe.json"
  use_icd "$folder/lavapipe.json"
  export HEED_MATRIX_UNITS=${HEED_MATRIX_UNITS:-always}
  export VK_LAYER_PATH=$folder/usr/share/vulkan/explicit_layer.d
  # The filter is for what the layer says about itself.
  [[ -z ${HEED_CHECK_BOUNDS:-} ]] ||
    export VK_LAYER_GPUAV_ENABLE=1 VK_LAYER_VALIDATE_CORE=0 VK_LAYER_MESSAGE_ID_FILTER=WARNING-GPU-Assisted-Validation
  exec "$loader" --library-path "$libraries" "$program" "$@"
}

if [[ -n ${HEED_CHECK_BOUNDS:-} && $driver != lavapipe-26 ]]; then
  echo "HEED_CHECK_BOUNDS needs the layer of lavapipe-26" >&2
  exit 2
fi
case $driver in
  lavapipe-26) exec_in_debian_13 "$@" ;;
  lavapipe | lavapipe-*)
    shopt -s nullglob
    icds=(/usr/share/vulkan/icd.d/lvp_icd*.json /usr/local/share/vulkan/icd.d/lvp_icd*.json
          /etc/vulkan/icd.d/lvp_icd*.json)
    [[ ${#icds[@]} -gt 0 ]] || { echo "lavapipe is not installed" >&2; exit 3; }
    use_icd "${icds[0]}"
    if [[ $driver == lavapipe-* ]]; then export LP_NATIVE_VECTOR_WIDTH=${driver#lavapipe-}; fi
    ;;
  swiftshader)
    icd=$("$here/swiftshader.sh" "$drivers/swiftshader")
    use_icd "$icd"
    ;;
  none) export HEED_VULKAN_LOADER=/nonexistent/libvulkan.so.1 ;;
  system) ;;
  *) echo "unknown driver '$driver'" >&2; exit 2 ;;
esac
exec "$@"
