#!/usr/bin/env bash
# Makes what a release of heed consists of, from the last commit, in a clean root of Debian 12:
#   heed-VERSION-SYSTEM.tar.gz, .zip     libheed with its C headers, and the program `heed`
#   heed_engine-VERSION-*.whl            wheels for Python
#   heed-VERSION-godot.zip               the add-on for Godot, for all systems that were built
#   heed-VERSION-source.tar.gz           the sources
#   heed-VERSION.spdx.json, SHA256SUMS   what the files contain, and their checksums
#
#   release.sh FOLDER [SYSTEM...]        SYSTEM: linux-x86_64, linux-aarch64, windows-x86_64; default: all three
#
# The same commit gives the same bytes. Needs root rights, debootstrap, Debian's mirror and PyPI, 4 GB in build/release, and some 20 minutes
# of processor time. Godot writes the header that its add-on needs: without Debian sid, which has Godot 4, the add-on is left out.
# Exit code 3: no root can be made here, or its tools cannot be had. tests/packaging/release.sh tests the results.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
drivers=$root/tests/drivers
[[ $# -gt 0 && $1 != -* ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
mkdir -p "$1"
dist=$(cd "$1" && pwd)
shift
[[ $# -gt 0 ]] || set -- linux-x86_64 linux-aarch64 windows-x86_64
for system in "$@"; do
  [[ $system =~ ^(linux-x86_64|linux-aarch64|windows-x86_64)$ ]] || { echo "release.sh: there is no system $system" >&2; exit 2; }
done
[[ -z $(ls -A "$dist") ]] || { echo "release.sh: $dist is not empty" >&2; exit 2; }
[[ -z $(git -C "$root" status --porcelain) ]] || echo "SKIPPED: changes that are not committed, since a release is made of the last commit"

work=$root/build/release
base=$work/base
mkdir -p "$work"
log=$work/log
# step WHAT COMMAND...
step() {
  local what=$1 begin=$SECONDS
  shift
  "$@" </dev/null >"$log" 2>&1 || { code=$?; tail -n 30 "$log" >&2; echo "release.sh: failed: $what (all of it: $log)" >&2; exit "$code"; }
  echo "$what: $((SECONDS - begin)) s"
}

"$drivers/install.sh" roots || exit 3
rm -rf --one-file-system "$base"
step "a root of Debian 12" "$drivers/clean_root.sh" "$base" bookworm
trap 'rm -rf --one-file-system "$base"' EXIT
sed -nE 's/^deb (.*)/deb-src \1/p' "$base/etc/apt/sources.list" >"$base/etc/apt/sources.list.d/sources.list"
packages=(cmake ninja-build python3-venv nlohmann-json3-dev libhwy-dev libprotozero-dev libcli11-dev libvulkan-dev dpkg-dev)
step "its packages" "$drivers/in_root.sh" "$base" sh -c "apt-get -q update && apt-get -q install -y --no-install-recommends ${packages[*]} || exit 3"

name=heed-$(sed -n 's/^project(heed VERSION \([0-9.]*\).*/\1/p' <(git -C "$root" show HEAD:CMakeLists.txt))
mkdir -p "$base/dist" "$base/heed"
git -C "$root" archive --format=tar --prefix="$name/" HEAD | gzip -9 -n >"$base/dist/$name-source.tar.gz"
tar -xzf "$base/dist/$name-source.tar.gz" -C "$base/heed" --strip-components=1
if "$root/samples/godot/get_godot.sh" "$root/build/roots/godot"; then
  cp -r "$root/build/roots/godot/interface" "$base/interface"
else
  echo "SKIPPED: the add-on, since no root with Godot can be made here"
fi
step "the files for $*" "$drivers/in_root.sh" "$base" env SOURCE_DATE_EPOCH="$(git -C "$root" log -1 --format=%ct)" \
  CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" /heed/engine/packaging/release/inside.sh "$@"
cp "$base"/dist/* "$dist/"
(cd "$dist" && ls -l --time-style=+ | awk 'NR > 1 { print $5, $6 }')
