#!/usr/bin/env bash
# Fetches SwiftShader, a Vulkan driver in software, out of Debian's chromium-common package, and prints the path
# of its ICD file. Nothing is installed. Exit code 3 where the package cannot be had (Ubuntu has none).
#   swiftshader.sh FOLDER
set -euo pipefail

mkdir -p "${1:?usage: swiftshader.sh FOLDER}"
folder=$(cd "$1" && pwd)
icd=$folder/vk_swiftshader_icd.json

if [[ ! -s $icd || ! -s $folder/libvk_swiftshader.so ]]; then
  command -v apt-get dpkg-deb >/dev/null || { echo "SwiftShader: no apt here" >&2; exit 3; }
  available() { [[ $(apt-cache policy chromium-common 2>/dev/null) == *"Candidate: "[0-9]* ]]; }
  if ! available && [[ $(id -u) -eq 0 ]]; then apt-get -qq update </dev/null >/dev/null 2>&1 || true; fi
  available || { echo "SwiftShader: no package chromium-common here" >&2; exit 3; }
  # As the calling user: apt's own user may not be able to write to the folder.
  (cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download chromium-common </dev/null >&2) ||
    { echo "SwiftShader: cannot download chromium-common" >&2; exit 3; }
  package=$(ls "$folder"/chromium-common_*.deb | tail -n 1)
  dpkg-deb --fsys-tarfile "$package" |
    tar -x -C "$folder" --strip-components 4 --wildcards './usr/lib/chromium/libvk_swiftshader.so'
  rm -f "$folder"/chromium-common_*.deb

  # The package's own file names the library by a relative path that holds only where it was installed.
  printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.1.0"}}\n' \
    "$folder/libvk_swiftshader.so" >"$icd.tmp"
  mv "$icd.tmp" "$icd"
fi
echo "$icd"
