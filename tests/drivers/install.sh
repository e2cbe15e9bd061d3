#!/usr/bin/env bash
# Installs from Debian or Ubuntu what heed needs. Does nothing, and needs no network, if all of it is installed.
#   install.sh samples   what samples/run.sh needs
#   install.sh tests     that, and what the quick tests of tests/run.sh need
#   install.sh all-tests that, and what all other tests need
#   install.sh search    samples, and what downloads the model of samples/search
#   install.sh talk      samples, and what downloads the model of samples/talk
#   install.sh listen    samples, what reads sound and microphones, and what downloads the model of samples/listen
#   install.sh swarm     samples, and the window of samples/swarm
#   install.sh windows   samples, and what builds and runs the tests for Windows
#   install.sh python    samples, and what builds and tests the wheel for Python, with PyTorch and matplotlib
#   install.sh manual    what writes and checks the manual (engine/manual)
#   install.sh roots     what makes clean roots of Debian
# On other systems it lists what to install and succeeds, since CMake reports what is missing.
set -euo pipefail

set_name=${1:-samples}
case $set_name in
  samples | tests | all-tests | search | talk | listen | swarm | python | windows | manual | roots) ;;
  *) echo "usage: install.sh samples|tests|all-tests|search|talk|listen|swarm|python|windows|manual|roots" >&2; exit 2 ;;
esac

# tools: command:package, since a command may also come from elsewhere. libraries: packages. wishes: packages that are installed with the
# others if apt knows them.
tools=(g++:g++ cmake:cmake ninja:ninja-build)
libraries=(libc6-dev libvulkan-dev libvulkan1 mesa-vulkan-drivers nlohmann-json3-dev libcli11-dev libcairo2-dev
           libutf8proc-dev zlib1g-dev libhwy-dev libprotozero-dev libzip-dev fonts-dejavu-core)
wishes=()
if [[ $set_name == swarm || $set_name == all-tests ]]; then
  libraries+=(libglfw3-dev libglm-dev libvulkan-volk-dev)
fi
if [[ $set_name == listen || $set_name == all-tests ]]; then
  libraries+=(libsndfile1-dev libsamplerate0-dev libsdl2-dev)
fi
if [[ $set_name == tests || $set_name == all-tests ]]; then
  libraries+=(catch2 libglm-dev vulkan-validationlayers libshaderc-dev)
  python3 -m pip --version >/dev/null 2>&1 || wishes+=(clang-format-19)  # else tests/format.sh gets it from PyPI
fi
if [[ $set_name == all-tests ]]; then
  tools+=(clang++:clang aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64:qemu-user
          valgrind:valgrind rustc:rustc)
  libraries+=(xvfb xdotool libc6-dbg)  # valgrind needs the last one
  python3 -c 'import pycparser' 2>/dev/null || libraries+=(python3-pycparser)
  python3 -c 'import jsonschema' 2>/dev/null || libraries+=(python3-jsonschema)
  command -v mcs >/dev/null || wishes+=(mono-mcs)
  wishes+=(libclang-rt-dev)  # Clang's sanitizers, where Clang's package lacks them
fi
if [[ $set_name == python ]]; then
  libraries+=(python3-venv python3-torch python3-matplotlib binutils)
fi
if [[ $set_name == windows ]]; then
  tools+=(x86_64-w64-mingw32-g++-posix:g++-mingw-w64-x86-64-posix wine:wine)
  libraries+=(wine64 libglm-dev xvfb xauth)
fi
if [[ $set_name == manual ]]; then
  tools=() libraries=()
fi
if [[ $set_name == manual || $set_name == all-tests ]]; then
  tools+=(doxygen:doxygen codespell:codespell)
  python3 -m pip --version >/dev/null 2>&1 || libraries+=(python3-pip)  # needed to get pdoc
fi
if [[ $set_name == roots ]]; then
  tools=(git:git debootstrap:debootstrap) libraries=()
fi
if [[ $set_name == search || $set_name == talk || $set_name == listen ]] && ! python3 -m pip --version >/dev/null 2>&1; then
  libraries+=(python3-pip)
fi

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  cat <<'TEXT'
heed: this is not Debian or Ubuntu, so nothing is installed for you. heed needs:
  a C++20 compiler (GCC 12+, Clang 14+), CMake 3.21+, Ninja
  Vulkan headers and loader, a Vulkan driver (Mesa's lavapipe works without a GPU)
  nlohmann_json, Google Highway, protozero, CLI11, cairo, utf8proc, zlib; for samples/swarm GLFW, glm, volk; for samples/listen libsndfile, libsamplerate, SDL2; for the tests also Catch2, valgrind and the Khronos validation layer
  Fedora: dnf install gcc-c++ cmake ninja-build vulkan-headers vulkan-loader mesa-vulkan-drivers json-devel \
            highway-devel protozero-devel cli11-devel cairo-devel utf8proc-devel zlib-devel dejavu-sans-fonts catch-devel vulkan-validation-layers clang valgrind
  Arch:   pacman -S --needed gcc cmake ninja vulkan-headers vulkan-icd-loader vulkan-swrast nlohmann-json \
            highway protozero cli11 cairo libutf8proc zlib ttf-dejavu catch2 vulkan-validation-layers clang valgrind
TEXT
  exit 0
fi

missing=()
for tool in "${tools[@]}"; do
  command -v "${tool%%:*}" >/dev/null || missing+=("${tool#*:}")
done
for library in "${libraries[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$library" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$library")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  # -n: fails rather than asking for a password.
  if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
    echo "heed: these packages are missing. Install them as root, then start again:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo -n)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" \
    </dev/null >"$log" 2>&1 && return
  tail -n 15 "$log" >&2
  echo "heed: apt-get $1 failed. These packages are missing; install them, then start again: ${missing[*]}" >&2
  exit 1
}
apt update
for package in "${wishes[@]}"; do
  if apt-cache show "$package" >/dev/null 2>&1; then missing+=("$package"); fi
done
echo "heed: installing ${missing[*]}"
apt install -y --no-install-recommends "${missing[@]}"
