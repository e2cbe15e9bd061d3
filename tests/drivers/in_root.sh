#!/usr/bin/env bash
# Runs a command in a root that clean_root.sh made, as root there and from its folder /. Needs root rights.
#   in_root.sh FOLDER COMMAND...
# The command gets a clean environment, a /proc, a /tmp and this machine's /dev. Other processes do not see the mounts, and
# processes that the command leaves running end with it.
set -euo pipefail

folder=${1:?usage: in_root.sh FOLDER COMMAND...}
shift
settings=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb)
for name in http_proxy https_proxy no_proxy HEED_DEBIAN_MIRROR PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST; do
  if [[ -n ${!name:-} ]]; then settings+=("$name=${!name}"); fi
done
if [[ -e $folder/etc/machine-certificates.crt ]]; then settings+=(PIP_CERT=/etc/machine-certificates.crt); fi

# shellcheck disable=SC2016  # the inner shell expands these
exec unshare --mount --pid --fork --kill-child bash -euc '
  mount -t proc proc "$0/proc"
  mount --rbind /dev "$0/dev"
  mount -t tmpfs tmpfs "$0/tmp"
  exec chroot "$0" env -i "$@"' "$folder" "${settings[@]}" "$@"
