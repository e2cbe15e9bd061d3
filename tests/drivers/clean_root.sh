#!/usr/bin/env bash
# Makes a root of Debian with nothing but a C++ compiler, which installs packages from this machine's mirror.
#   clean_root.sh FOLDER SUITE    SUITE: bookworm, trixie, sid, ...
# Needs root rights and debootstrap. HEED_DEBIAN_MIRROR: the mirror to use instead of this machine's.
# Exit code 3: the root cannot be made here. in_root.sh runs commands in it.
set -euo pipefail

folder=${1:?usage: clean_root.sh FOLDER SUITE}
suite=${2:?usage: clean_root.sh FOLDER SUITE}

fail() { echo "$*" >&2; exit 3; }
[[ $(id -u) -eq 0 ]] || fail "a clean root takes root rights"
unshare --mount --pid --fork true 2>/dev/null || fail "nothing can be mounted, so that nothing runs in a clean root"
command -v debootstrap >/dev/null || fail "no debootstrap: apt-get install debootstrap"

# The mirror of this machine's Debian.
machine_mirror() {
  local codename
  codename=$(. /etc/os-release && [[ ${ID:-} == debian ]] && echo "${VERSION_CODENAME:-}") || return 0
  apt-get indextargets --format '$(REPO_URI)' "Release: $codename" 'Component: main' 'Created-By: Packages' | head -n 1
}
mirror=${HEED_DEBIAN_MIRROR:-$(machine_mirror)}
[[ -n $mirror ]] || fail "this machine does not say where to get Debian from: set HEED_DEBIAN_MIRROR"

mkdir -p "$folder"
if ! debootstrap --variant=minbase --include=g++ "$suite" "$folder" "$mirror" >"$folder.log" 2>&1; then
  tail -n 3 "$folder.log" >&2
  fail "no root of $suite can be made (all of it: $folder.log)"
fi
# The root uses this machine's network settings: proxies, apt's rules for mirrors, and certificates.
apt-config dump | grep -E '^Acquire::(Check-|Retries|https?::)' >"$folder/etc/apt/apt.conf.d/00machine" || true
for file in /etc/hosts /etc/resolv.conf /etc/pip.conf; do
  if [[ -e $file ]]; then cp -L "$file" "$folder$file"; fi
done
if [[ -e /etc/ssl/certs/ca-certificates.crt ]]; then
  cp -L /etc/ssl/certs/ca-certificates.crt "$folder/etc/machine-certificates.crt"
fi
