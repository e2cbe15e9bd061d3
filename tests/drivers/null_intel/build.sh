#!/usr/bin/env bash
# Builds xe.cpp, which imitates Linux's driver for a GPU of Intel, and makes the few files of such a device. Prints the
# library's path.
#   build.sh ROOT FOLDER DEVICE REVISION...
# ROOT: made by debian_root.sh, with Linux's headers (linux-libc-dev). The library goes into FOLDER, the files into
# FOLDER/DEVICE. DEVICE and REVISION are PCI ids. Exit code 3: there is no C++ compiler here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${1:?usage: build.sh ROOT FOLDER DEVICE REVISION} folder=$2 device=$3 revision=$4
library=$folder/libnull_intel.so source=$here/xe.cpp
compiler=$(type -P g++ || type -P clang++) || { echo "no C++ compiler to build null_intel with" >&2; exit 3; }

mkdir -p "$folder"
exec 9>"$folder/lock"  # other tests may need the same now
flock 9
if [[ ! $library -nt $source ]]; then
  "$compiler" -std=c++20 -O1 -Wall -Wextra -fno-exceptions -fno-rtti -fPIC -shared -idirafter "$root/usr/include" "$source" \
    -o "$library" >&2
fi
pci=$folder/$device/sys/dev/char/226:128/device
if [[ ! -e $pci/subsystem ]]; then
  mkdir -p "$folder/$device/dev/dri" "$pci/drm/renderD128"
  : >"$folder/$device/dev/dri/renderD128"
  echo 0x8086 | tee "$pci/vendor" >"$pci/subsystem_vendor"
  echo "$device" | tee "$pci/device" >"$pci/subsystem_device"
  printf '0x%02x\n' "$revision" >"$pci/revision"
  echo PCI_SLOT_NAME=0000:03:00.0 >"$pci/uevent"
  ln -s /sys/bus/pci "$pci/subsystem"
fi
echo "$library"
