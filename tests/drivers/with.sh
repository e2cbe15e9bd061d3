#!/usr/bin/env bash
# Runs a command with one Vulkan driver, and without the caller's other Vulkan settings.
#   with.sh DRIVER COMMAND...
#   lavapipe-128|-256|-512  Mesa's software driver with vectors of that many bits (subgroups of 4, 8, 16)
#   lavapipe                the same with its own choice of width
#   lavapipe-26             lavapipe of Mesa 26 with its matrix units forced on (HEED_MATRIX_UNITS=always, unless set),
#                           and Debian 13's C library, loader and layers; fetched into build/drivers/debian-13 if
#                           needed; COMMAND must be a program, no script
#   swiftshader             SwiftShader, fetched into build/drivers/swiftshader if needed
#   null-tu102|-ga102|-navi21|-navi31|-gfx1201|-m1|-a740
#                           Mesa 26's driver for a GPU of NVIDIA, AMD, Apple or Qualcomm that need not exist: compiles
#                           kernels with the compiler for that chip, and runs nothing. COMMAND as for lavapipe-26
#   null-dg2|-bmg|-tgl      the same for Intel's Arc A770, Arc B580 and Tiger Lake; null_intel/xe.cpp imitates the kernel
#   none                    no Vulkan loader
#   system                  the machine's own drivers
# With HEED_CHECK_BOUNDS=1 the layer of lavapipe-26 checks that shaders read and write within their bindings
# (GPU-assisted validation), instead of the calls of Vulkan: software drivers hide such accesses, GPUs may lose the device.
# HEED_DEBIAN_ROOT: a root that debian_root.sh unpacked, with the packages above, to use instead of debian-13.
# HEED_TEST_DRIVER names the driver to the tests. Exit code 3: the driver is not available here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
driver=${1:?usage: with.sh DRIVER COMMAND...}
shift

for name in ${!VK_@} LP_NATIVE_VECTOR_WIDTH HEED_VULKAN_LOADER; do unset "$name"; done
export HEED_TEST_DRIVER=$driver

use_icd() { export VK_ICD_FILENAMES=$1 VK_DRIVER_FILES=$1; }

drivers=${HEED_DRIVER_FOLDER:-$here/../../build/drivers}

# Runs a program with the C library, a Vulkan driver and the other libraries of an unpacked Debian 13.
#   exec_in_debian_13 DRIVER SHIM COMMAND...; SHIM: the folder of a library that imitates a kernel driver, or empty
exec_in_debian_13() {
  local driver=$1 shim=$2 folder loader libraries program icd
  shift 2
  folder=${HEED_DEBIAN_ROOT:-$drivers/debian-13}
  [[ -n ${HEED_DEBIAN_ROOT:-} ]] || "$here/debian_root.sh" "$folder" "trixie trixie-backports" \
    "mesa-vulkan-drivers mesa-drm-shim libvulkan1 vulkan-validationlayers libstdc++6 libshaderc1 linux-libc-dev"
  folder=$(cd "$folder" && pwd)
  icd=$("$here/icd.sh" "$folder" "$driver")
  libraries=${icd%/*}
  loader=$(find "$folder/usr/lib" "$folder/usr/lib64" -name 'ld-linux-*.so.*' | head -n 1)
  program=$(type -P "$1") || { echo "no program '$1'" >&2; exit 127; }
  shift
  use_icd "$icd"
  case $shim in
    "") ;;
    intel) shim=$("$here/null_intel/build.sh" "$folder" "$drivers/null_intel" $HEED_NULL_INTEL) ;;
    *) shim=$libraries/lib${shim}_noop_drm_shim.so ;;
  esac
  exec "$loader" --library-path "$libraries" ${shim:+--preload "$shim"} "$program" "$@"
}

exec_on_lavapipe_26() {
  export HEED_MATRIX_UNITS=${HEED_MATRIX_UNITS:-always}
  export VK_LAYER_PATH=$drivers/debian-13/usr/share/vulkan/explicit_layer.d
  # Filters the layer's messages about itself.
  [[ -z ${HEED_CHECK_BOUNDS:-} ]] ||
    export VK_LAYER_GPUAV_ENABLE=1 VK_LAYER_VALIDATE_CORE=0 VK_LAYER_MESSAGE_ID_FILTER=WARNING-GPU-Assisted-Validation
  exec_in_debian_13 lvp "" "$@"
}

# exec_on_null_intel DEVICE REVISION GRAPHICS CORES EUS VRAM COMMAND...: see null_intel/xe.cpp.
exec_on_null_intel() {
  export HEED_NULL_INTEL="$1 $2 $3 $4 $5 $6" HEED_NULL_INTEL_FOLDER=$drivers/null_intel/$1
  export INTEL_XE_IGNORE_EXPERIMENTAL_WARNING=1  # before Xe2 most systems use another Linux driver
  shift 6
  exec_in_debian_13 intel intel "$@"
}

exec_without_gpu() {
  local chip=$1
  shift
  # HEED_LAYER is the only layer that programs get, FOLDER:NAME.
  export VK_LOADER_LAYERS_DISABLE='*'
  if [[ -n ${HEED_LAYER:-} ]]; then
    export VK_LOADER_LAYERS_DISABLE='~implicit~' VK_LAYER_PATH=${HEED_LAYER%:*} VK_INSTANCE_LAYERS=${HEED_LAYER##*:}
  fi
  export MESA_SHADER_CACHE_DISABLE=${MESA_SHADER_CACHE_DISABLE:-true}
  case $chip in
    tu102) NOUVEAU_CHIPSET=162 exec_in_debian_13 nouveau nouveau "$@" ;;
    ga102) NOUVEAU_CHIPSET=172 exec_in_debian_13 nouveau nouveau "$@" ;;
    navi21 | navi31 | gfx1201) AMDGPU_GPU_ID=$chip exec_in_debian_13 radeon amdgpu "$@" ;;
    m1) exec_in_debian_13 asahi asahi "$@" ;;
    a740) FD_GPU_ID=740 exec_in_debian_13 freedreno freedreno "$@" ;;
    dg2) exec_on_null_intel 0x56a0 8 0 0xffffffff 0xffff 16 "$@" ;;
    bmg) exec_on_null_intel 0xe20b 4 0x1401 0xfffff 0xff 12 "$@" ;;
    tgl) exec_on_null_intel 0x9a49 3 0 0x3f 0xffff 0 "$@" ;;
    *) echo "unknown driver 'null-$chip'" >&2; exit 2 ;;
  esac
}

if [[ -n ${HEED_CHECK_BOUNDS:-} && $driver != lavapipe-26 ]]; then
  echo "HEED_CHECK_BOUNDS needs the layer of lavapipe-26" >&2
  exit 2
fi
case $driver in
  lavapipe-26) exec_on_lavapipe_26 "$@" ;;
  null-*) exec_without_gpu "${driver#null-}" "$@" ;;
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
