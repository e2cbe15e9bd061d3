#!/usr/bin/env bash
# Runs a command with one Vulkan driver and no other setting of the caller's Vulkan environment.
#   with.sh DRIVER COMMAND...
#   lavapipe-128|-256|-512  Mesa's software driver with vectors of that many bits (subgroups of 4, 8, 16)
#   lavapipe                the same with its own choice of width
#   swiftshader             SwiftShader, fetched into build/drivers/swiftshader if need be
#   none                    no Vulkan loader at all
#   system                  whatever the machine has
# HEED_TEST_DRIVER names the driver to the tests. Exit code 3: the driver is not to be had here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
driver=${1:?usage: with.sh DRIVER COMMAND...}
shift

for name in ${!VK_@} LP_NATIVE_VECTOR_WIDTH HEED_VULKAN_LOADER; do unset "$name"; done
export HEED_TEST_DRIVER=$driver

use_icd() { export VK_ICD_FILENAMES=$1 VK_DRIVER_FILES=$1; }

case $driver in
  lavapipe | lavapipe-*)
    shopt -s nullglob
    icds=(/usr/share/vulkan/icd.d/lvp_icd*.json /usr/local/share/vulkan/icd.d/lvp_icd*.json
          /etc/vulkan/icd.d/lvp_icd*.json)
    [[ ${#icds[@]} -gt 0 ]] || { echo "lavapipe is not installed" >&2; exit 3; }
    use_icd "${icds[0]}"
    if [[ $driver == lavapipe-* ]]; then export LP_NATIVE_VECTOR_WIDTH=${driver#lavapipe-}; fi
    ;;
  swiftshader)
    icd=$("$here/swiftshader.sh" "${HEED_DRIVER_FOLDER:-$here/../../build/drivers}/swiftshader")
    use_icd "$icd"
    ;;
  none) export HEED_VULKAN_LOADER=/nonexistent/libvulkan.so.1 ;;
  system) ;;
  *) echo "unknown driver '$driver'" >&2; exit 2 ;;
esac
exec "$@"
