#!/usr/bin/env bash
# Makes what a build for Windows needs beside Debian's MinGW: the libraries that heed and its tests link, built from Debian's sources
# into a separate folder, and a CMake toolchain file. Installs nothing into the system. Prints the file's name.
#   windows.sh FOLDER
# Programs then run with: WINEPREFIX=ANY_FOLDER WINEDEBUG=-all wine PROGRAM
set -euo pipefail

mkdir -p "$1"
folder=$(cd "$1" && pwd)
file=$folder/toolchain.cmake
[[ ! -f $file ]] || { echo "$file"; exit 0; }

packages=(highway utf8proc nlohmann-json3 catch2 cli11) tools=(x86_64-w64-mingw32-g++-posix apt-get cmake ninja wine)
for tool in "${tools[@]}"; do
  command -v "$tool" >/dev/null || { echo "windows.sh: there is no $tool (tests/drivers/install.sh windows)" >&2; exit 1; }
done

cat >"$file.tmp" <<TEXT
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_FIND_ROOT_PATH $folder/root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
TEXT

# The system's package sources, plus source packages.
rm -rf "$folder/apt"
mkdir -p "$folder/apt/parts" "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
for list in /etc/apt/sources.list.d/*.sources; do
  [[ ! -f $list ]] || sed -E 's/^Types:.*/Types: deb deb-src/' "$list" >"$folder/apt/parts/${list##*/}"
done
touch "$folder/apt/sources.list"
[[ ! -f /etc/apt/sources.list ]] || sed -nE 's/^deb (.*)/&\ndeb-src \1/p' /etc/apt/sources.list >"$folder/apt/sources.list"
apt=(-qq -o Dir::Etc::sourcelist="$folder/apt/sources.list" -o Dir::Etc::sourceparts="$folder/apt/parts"
     -o Dir::State::lists="$folder/apt/lists" -o Dir::Cache="$folder/apt/cache" -o APT::Sandbox::User=root)
apt-get "${apt[@]}" update >&2

(cd "$folder/apt" && apt-get "${apt[@]}" --download-only source "${packages[@]}" >&2)
for package in "${packages[@]}"; do
  source=$folder/source/$package
  rm -rf "$source" && mkdir -p "$source"
  tar -xf "$folder/apt/${package}"_*.orig.tar.* -C "$source" --strip-components=1
  # Each library ignores options that it does not know.
  cmake -S "$source" -B "$source/build" -G Ninja --no-warn-unused-cli -DCMAKE_TOOLCHAIN_FILE="$file.tmp" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$folder/root" -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DHWY_ENABLE_TESTS=OFF \
    -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF -DUTF8PROC_ENABLE_TESTING=OFF -DCATCH_BUILD_TESTING=OFF \
    -DCATCH_INSTALL_DOCS=OFF -DJSON_BuildTests=OFF -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF -DCLI11_BUILD_DOCS=OFF >&2
  cmake --build "$source/build" >&2
  cmake --install "$source/build" >&2
done
# Debian's sources of zlib lack the build files for Windows; Debian has a separate package for Windows.
(cd "$folder/apt" && apt-get "${apt[@]}" download libz-mingw-w64-dev >&2 && dpkg -x libz-mingw-w64-dev_*.deb zlib)
cp "$folder"/apt/zlib/usr/x86_64-w64-mingw32/include/z*.h "$folder/root/include/"
cp "$folder/apt/zlib/usr/x86_64-w64-mingw32/lib/libz.a" "$folder/root/lib/"
for headers in vulkan vk_video glm protozero; do  # the same for every system
  [[ ! -d /usr/include/$headers ]] || ln -sfn "/usr/include/$headers" "$folder/root/include/$headers"
done

mv "$file.tmp" "$file"
echo "$file"
