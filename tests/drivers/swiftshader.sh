#!/usr/bin/env bash
# Fetches SwiftShader, a software Vulkan driver, out of Debian's chromium-common package, and prints the path
# of its ICD file. Installs nothing. Exit code 3 if the package is not available (Ubuntu has none).
#   swiftshader.sh FOLDER
set -euo pipefail

mkdir -p "${1:?usage: swiftshader.sh FOLDER}"
folder=$(cd "$1" && pwd)
icd=$folder/vk_swiftshader_icd.json

is_complete() { [[ -s $icd && -s $folder/libvk_swiftshader.so ]]; }
if ! is_complete; then
  exec 9>"$folder/lock"  # another test may need it now
  flock 9
fi
if ! is_complete; then
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || { echo "SwiftShader: no apt here" >&2; exit 3; }
  # apt downloads as the calling user, since its own user may not write to the folder. Old package lists name versions that no longer exist,
  # so that a first failure is followed by an update.
  download() { (cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download chromium-common) </dev/null; }
  download >/dev/null 2>&1 || {
    if [[ $(id -u) -eq 0 ]]; then apt-get -qq update </dev/null >/dev/null 2>&1 || true; fi
    download >&2 || { echo "SwiftShader: cannot download the package chromium-common" >&2; exit 3; }
  }
  package=$(ls "$folder"/chromium-common_*.deb | tail -n 1)
  dpkg-deb --fsys-tarfile "$package" |
    tar -x -C "$folder" --strip-components 4 --wildcards './usr/lib/chromium/libvk_swiftshader.so'
  rm -f "$folder"/chromium-common_*.deb

  # The package's own file names the library by a relative path that is only valid where it was installed.
  printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.3.0"}}\n' \
    "$folder/libvk_swiftshader.so" >"$icd.tmp"
  mv "$icd.tmp" "$icd"
fi
echo "$icd"
