#!/usr/bin/env bash
# Unpacks Debian packages, with all their dependencies, into a separate folder. Installs nothing, needs no root
# rights, and neither reads nor changes the system's packages. Does nothing if FOLDER holds them already.
#   debian_root.sh FOLDER "SUITE..." "PACKAGE..." ["PACKAGE LEFT OUT..."]
# The last suite is preferred: "trixie trixie-backports" uses the backports of packages that have them.
# HEED_ARCHITECTURE: Debian's name of another architecture than this machine's, such as arm64.
# Exit code 3: the packages are not available here.
set -euo pipefail

folder=${1:?usage: debian_root.sh FOLDER SUITES PACKAGES [LEFT_OUT]}
read -r -a suites <<<"${2:?no suite}"
read -r -a packages <<<"${3:?no package}"
left_out=" ${4:-} "
mirror=${HEED_DEBIAN_MIRROR:-http://deb.debian.org/debian}

wanted="$2 : $3 :$left_out"
is_complete() { [[ -e $folder/.complete && $(<"$folder/.complete") == "$wanted" ]]; }
! is_complete || exit 0

fail() { echo "$*" >&2; exit 3; }
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || fail "no apt here to fetch $3"
keyring=
for key in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
  [[ -z $keyring && -r $key ]] && keyring=$key
done
[[ -n $keyring ]] || fail "no Debian archive keyring (package debian-archive-keyring)"

mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"  # another test may need the same packages now
flock 9
! is_complete || exit 0
rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
apt=$folder/.apt
architecture=${HEED_ARCHITECTURE:-$(dpkg --print-architecture)}
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/etc/apt.conf.d"
: >"$apt/status"  # an empty system: every dependency is fetched
for suite in "${suites[@]}"; do
  echo "deb [arch=$architecture signed-by=$keyring] $mirror $suite main"
done >"$apt/etc/sources.list"
cat >"$apt/apt.conf" <<CONF
Dir::Etc "$apt/etc";
Dir::Etc::SourceList "$apt/etc/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$apt";
Dir::State::Lists "$apt/lists";
Dir::State::Status "$apt/status";
Dir::Cache "$apt/cache";
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Default-Release "${suites[-1]}";
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "3";
CONF
# This machine's settings decide whether apt accepts an old list of packages.
apt-config dump | grep '^Acquire::Check-' >>"$apt/apt.conf" || true
log=$folder/.log
APT_CONFIG=$apt/apt.conf apt-get -q update </dev/null >"$log" 2>&1 &&
  APT_CONFIG=$apt/apt.conf apt-get -q -y --download-only install "${packages[@]}" </dev/null >>"$log" 2>&1 ||
  { tail -n 5 "$log" >&2; fail "cannot fetch ${packages[*]} of ${suites[*]} from $mirror"; }
# Makes the links of a merged /usr, as in Debian. base-files would make them, but needs more than unpacking.
mkdir -p "$folder/usr/lib" "$folder/usr/lib64" "$folder/usr/bin" "$folder/usr/sbin"
ln -sfn usr/lib "$folder/lib"
ln -sfn usr/lib64 "$folder/lib64"
ln -sfn usr/bin "$folder/bin"
ln -sfn usr/sbin "$folder/sbin"
for package in "$apt"/cache/archives/*.deb; do
  name=$(dpkg-deb --field "$package" Package)
  [[ $left_out == *" $name "* || $name == base-files ]] && continue
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$folder" --keep-directory-symlink
done
rm -rf "$apt"
echo "$wanted" >"$folder/.complete"
