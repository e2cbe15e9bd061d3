#!/usr/bin/env bash
# Makes what a build for 64-bit Arm needs beside Debian's cross compiler: libraries of that architecture, unpacked into
# a separate folder, and a CMake toolchain file. Installs nothing foreign into the system. Prints the file's
# name.
#   aarch64.sh FOLDER
# Programs then run with: qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=FOLDER/root/usr/lib/aarch64-linux-gnu
set -euo pipefail

mkdir -p "$1"
folder=$(cd "$1" && pwd)
file=$folder/toolchain.cmake
[[ ! -f $file ]] || { echo "$file"; exit 0; }

tools=(aarch64-linux-gnu-g++ qemu-aarch64 apt-get dpkg)
for tool in "${tools[@]}"; do
  command -v "$tool" >/dev/null || { echo "aarch64.sh: there is no $tool (Debian: g++-aarch64-linux-gnu, qemu-user)" >&2; exit 1; }
done

# apt has separate lists and a cache for that architecture alone.
apt=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::lists="$folder/lists"
     -o Dir::Cache="$folder/cache" -o Dir::State::status="$folder/status" -o APT::Sandbox::User=root)
mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/packages"
: >"$folder/status"
apt-get "${apt[@]}" update >&2
# The libraries' names differ between releases, so that they are found as dependencies of the -dev packages.
mapfile -t packages < <(apt-cache "${apt[@]}" depends libhwy-dev libutf8proc-dev zlib1g-dev |
  awk '/^[lz]/ { print $1 } /Depends: (lib(hwy|utf8proc)|zlib)/ { print $2 }' | sort -u)
(cd "$folder/packages" && apt-get "${apt[@]}" download "${packages[@]}" >&2)
for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$folder/root"; done
rm -f "$folder"/root/usr/lib/*/libz.so  # names a file of the system; the archive replaces it

cat >"$file.tmp" <<TEXT
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH $folder/root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
TEXT
mv "$file.tmp" "$file"
echo "$file"
