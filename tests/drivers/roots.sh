#!/usr/bin/env bash
# Runs the README's two commands on systems with nothing but a C++ compiler: fresh clones of the last commit, in clean
# roots of Debian. Prints the seconds of each, with all that it installed and built. samples also runs small goldens on
# that system's devices.
#   roots.sh [samples] [tests] [bundle] [FILE.whl] [12] [13] [sid]    default: all systems; samples and tests
# bundle: links a program with the bundles that tests/run.sh packaging built here, and starts it, before anything is installed.
# FILE.whl: installs the wheel, which engine/packaging/release.sh made, into a new virtual environment, with that system's Python, and runs
# tests/python there, without Vulkan and on that system's lavapipe. There is no compiler's package but the root's g++, and nothing else of heed.
# Needs root rights, debootstrap, and 4 GB in build/roots, where the logs stay. A system whose root cannot be made is
# skipped; exit code 3: all of them were. sid changes every day: if its packages are inconsistent, it is skipped, too.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
commands=() systems=()
for word in "$@"; do
  case $word in
    samples | tests | bundle) commands+=("$word") ;;
    *.whl) commands+=(wheel) wheel_file=$word ;;
    12 | 13 | sid) systems+=("$word") ;;
    *) sed -n '2,/^set /s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
done
[[ ${#commands[@]} -gt 0 ]] || commands=(samples tests)
[[ ${#systems[@]} -gt 0 ]] || systems=(12 13 sid)
declare -A suite_of=([12]=bookworm [13]=trixie [sid]=sid)

[[ $(id -u) -eq 0 ]] || { echo "no root rights, so no clean root" >&2; exit 3; }
"$here/install.sh" roots || exit 3
folder=$root/build/roots
mkdir -p "$folder"
# Nothing is mounted there any more at this point: in_root.sh mounts only for the time of its command.
remove() { rm -rf --one-file-system "$folder/base" "$folder/run"; }
trap remove EXIT
remove
[[ -z $(git -C "$root" status --porcelain) ]] || echo "SKIPPED: changes that are not committed, since a clean root gets the last commit"

failed=0 checked=0
skip() { echo "SKIPPED Debian $1: $2"; }
fail() {
  failed=1
  echo "FAIL Debian $1: $2"
}

# Whether a command's log says that packages could not be installed.
lacks_packages() { grep -q -a '^heed: apt-get .* failed' "$1"; }

wheel='cd /heed
  apt-get -qq update && apt-get -qq install -y --no-install-recommends python3-venv libvulkan1 mesa-vulkan-drivers >/dev/null
  python3 -m venv /venv
  /venv/bin/pip install --quiet --disable-pip-version-check /*.whl "pytest>=7"
  for driver in none lavapipe; do
    PYTHONDONTWRITEBYTECODE=1 tests/drivers/with.sh $driver /venv/bin/python -m pytest -q -p no:cacheprovider -o python_files="*_test.py" tests/python
  done
  echo "versions: $(/venv/bin/python --version) $(/venv/bin/pip list --format freeze | grep -E "^(heed-engine|numpy|cffi)==" | tr "\n" " ")"'

# check SYSTEM samples|tests|wheel: runs in a copy of the base, so that neither command finds packages that the other one installed.
check() {
  local system=$1 command=$2 log=$folder/debian-$1-$2.log code seconds last
  local -a run=("/heed/$command/run.sh")
  [[ $command != samples ]] || run=(sh -ec 'cd /heed && export CXXFLAGS=-Werror && samples/run.sh &&
    GALLIVM_PERF=nopt samples/run.sh heed verify --device all tests/goldens/*_toy.safetensors')
  [[ $command != wheel ]] || run=(bash -ec "$wheel")
  # Leaves out the interpreter's tests, whose results do not depend on the system, and tables on lavapipe, which lavapipe-26.tables runs on
  # a newer Mesa with the layers of Debian 13. Tests of hosts show whether heed accepts this system's Mesa.
  [[ $command != tests ]] || run+=(-- -E '^(interpreter|lavapipe-256)')
  checked=1
  rm -rf --one-file-system "$folder/run"
  cp -a "$folder/base" "$folder/run"
  git clone --quiet --no-hardlinks "$root" "$folder/run/heed" || { fail "$system" "git clone"; return; }
  [[ $command != wheel ]] || cp "$wheel_file" "$folder/run/"
  seconds=$SECONDS
  "$here/in_root.sh" "$folder/run" "${run[@]}" </dev/null >"$log" 2>&1
  code=$?
  seconds=$((SECONDS - seconds))
  last=$(grep -a -E '^([0-9]+% tests passed, [0-9]+ tests failed out of [0-9]+$|[0-9]+ passed.* in [0-9.]+s|[0-9]+ passed, 0 failed, 0 damaged on .*)' "$log" | tail -n 1)
  if [[ $code -eq 0 && -n $last ]]; then
    echo "ok Debian $system: $command, $seconds s${last:+: $last}"
    grep -a -E '^(SKIPPED|versions:)' "$log" | sed 's/^/   /'
  elif [[ $system == sid ]] && lacks_packages "$log"; then
    skip "$system" "its packages do not fit together today ($log)"
  else
    tail -n 40 "$log"
    fail "$system" "$command ended with exit code $code after $seconds s${last:+: $last} (all of it: $log)"
  fi
}

# check_bundle SYSTEM: a program needs only a compiler and a bundle.
check_bundle() {
  local system=$1 kind log=$folder/debian-$1-bundle.log made=$root/build/packaging place=$folder/base/bundle
  if [[ ! -d $made/bundle_static/moved || ! -d $made/bundle_shared/moved ]]; then
    skip "$system" "no bundles: tests/run.sh packaging builds them"
    return
  fi
  checked=1
  for kind in static shared; do
    rm -rf "$place"
    cp -a "$made/bundle_$kind/moved" "$place"
    cp "$root/tests/packaging/consumer/main.cpp" "$place/"
    if "$here/in_root.sh" "$folder/base" sh -c 'cd /bundle && g++ -std=c++20 -Iinclude -o program main.cpp -Llib -lheed -ldl -pthread \
      -Wl,-rpath,/bundle/lib && ./program' </dev/null >"$log" 2>&1 && grep -q 'heed works here' "$log"; then
      echo "ok Debian $system: a program with the $kind bundle"
    else
      tail -n 20 "$log"
      fail "$system" "a program with the $kind bundle (all of it: $log)"
    fi
  done
  rm -rf "$place"
}

for system in "${systems[@]}"; do
  remove
  if why=$("$here/clean_root.sh" "$folder/base" "${suite_of[$system]}" 2>&1); then
    for command in "${commands[@]}"; do
      if [[ $command == bundle ]]; then check_bundle "$system"; else check "$system" "$command"; fi
    done
  else
    skip "$system" "$(tail -n 1 <<<"$why")"
  fi
done
[[ $checked -eq 1 ]] || exit 3
exit $failed
