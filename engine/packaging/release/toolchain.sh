#!/usr/bin/env bash
# Makes what a release for one system needs to be compiled anywhere: a CMake toolchain file for the Zig compiler, and the libraries that heed,
# its program and the add-on link, as archives. Prints the toolchain's file. Installs nothing into the system.
#   toolchain.sh FOLDER SYSTEM SOURCES    SYSTEM: linux-x86_64, linux-aarch64 or windows-x86_64
# SOURCES holds the unpacked sources of zlib, utf8proc, libzip and libsamplerate. HEED_ZIG is Zig's program.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
system=$2
sources=$(cd "$3" && pwd)
file=$folder/toolchain.cmake
[[ ! -f $file ]] || { echo "$file"; exit 0; }

# glibc 2.28 is that of manylinux_2_28: Debian 10, Ubuntu 18.10, RHEL 8 and later.
case $system in
  linux-x86_64) target=x86_64-linux-gnu.2.28 name=Linux ;;
  linux-aarch64) target=aarch64-linux-gnu.2.28 name=Linux ;;
  windows-x86_64) target=x86_64-windows-gnu name=Windows ;;
  *) echo "toolchain.sh: there is no system $system" >&2; exit 2 ;;
esac

mkdir -p "$folder/bin" "$folder/root/include" "$folder/root/lib"
# Zig is one program; CMake wants a file for each tool.
for tool in cc c++ ar ranlib rc; do
  words=$tool
  [[ $tool != c* ]] || words="$tool -target $target"
  printf '#!/bin/sh\nexec "%s" %s "$@"\n' "${HEED_ZIG:?}" "$words" >"$folder/bin/$tool"
  chmod +x "$folder/bin/$tool"
done
cat >"$file.tmp" <<TEXT
set(CMAKE_SYSTEM_NAME $name)
set(CMAKE_SYSTEM_PROCESSOR ${system#*-})
set(CMAKE_C_COMPILER $folder/bin/cc)
set(CMAKE_CXX_COMPILER $folder/bin/c++)
set(CMAKE_AR $folder/bin/ar)
set(CMAKE_RANLIB $folder/bin/ranlib)
set(CMAKE_RC_COMPILER $folder/bin/rc)
set(CMAKE_FIND_ROOT_PATH $folder/root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# Zig checks for undefined behavior and writes debug information unless told otherwise. libzip names functions of Windows by types that Clang takes for others.
set(CMAKE_C_FLAGS_INIT "-fno-sanitize=undefined -g0 -Wno-incompatible-function-pointer-types")
set(CMAKE_CXX_FLAGS_INIT "-fno-sanitize=undefined -g0")
TEXT

# build SOURCE TARGET OPTION...: builds one archive and copies it to root/lib
build() {
  local source=$sources/$1 made=$folder/$1
  cmake -S "$source" -B "$made" -G Ninja --no-warn-unused-cli -DCMAKE_TOOLCHAIN_FILE="$file.tmp" -DCMAKE_BUILD_TYPE=Release \
    -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON "${@:3}" >&2
  cmake --build "$made" --target "$2" >&2
  find "$made" -name '*.a' -exec cp {} "$folder/root/lib/" \;
}
# zlib's own build file needs files for Windows that Debian leaves out.
cat >"$sources/zlib/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.21)
project(zlib C)
file(GLOB sources *.c)
add_library(z STATIC ${sources})
target_compile_definitions(z PRIVATE _LARGEFILE64_SOURCE=1 $<$<NOT:$<BOOL:${WIN32}>>:HAVE_UNISTD_H>)
TEXT
build zlib z
cp "$sources"/zlib/zlib.h "$sources"/zlib/zconf.h "$folder/root/include/"
build utf8proc utf8proc -DUTF8PROC_ENABLE_TESTING=OFF
cp "$sources/utf8proc/utf8proc.h" "$folder/root/include/"
build libzip zip -DENABLE_COMMONCRYPTO=OFF -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF -DENABLE_OPENSSL=OFF -DENABLE_WINDOWS_CRYPTO=OFF \
  -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF -DENABLE_ZSTD=OFF
cp "$sources/libzip/lib/zip.h" "$folder/libzip/zipconf.h" "$folder/root/include/"
build libsamplerate samplerate -DBUILD_TESTING=OFF -DLIBSAMPLERATE_EXAMPLES=OFF -DLIBSAMPLERATE_INSTALL=OFF
cp "$sources/libsamplerate/include/samplerate.h" "$folder/root/include/"
# The same for every system: libraries of headers.
for headers in vulkan vk_video nlohmann protozero hwy CLI; do
  ln -sfn "/usr/include/$headers" "$folder/root/include/$headers"
done
mkdir -p "$folder/root/share/cmake"  # CMake's packages, which name headers beside themselves
cp -r /usr/share/cmake/{nlohmann_json,CLI11} "$folder/root/share/cmake/"

mv "$file.tmp" "$file"
echo "$file"
