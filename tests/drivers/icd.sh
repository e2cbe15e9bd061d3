#!/usr/bin/env bash
# Writes the loader's manifest for a Vulkan driver of an unpacked Debian, beside the driver's library, and prints its path.
#   icd.sh ROOT DRIVER     ROOT: made by debian_root.sh, an absolute path; DRIVER: lvp, radeon, nouveau, intel, asahi, freedreno
# Exit code 3: the root has no such driver.
set -euo pipefail

library=$(find "$1/usr/lib" -name "libvulkan_$2.so" -print -quit)
[[ -n $library ]] || { echo "no Vulkan driver '$2' in $1" >&2; exit 3; }
icd=${library%.so}.json
# Several tests may write it at once.
printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.4.0"}}\n' "$library" >"$icd.$$"
mv "$icd.$$" "$icd"
echo "$icd"
