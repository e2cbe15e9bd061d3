#!/usr/bin/env bash
# Formats all C++ of the tree with the one version of clang-format that .clang-format is written for.
#   format.sh           changes the files
#   format.sh --check   changes none; prints a line for each file that would change, and then has exit code 1
# Uses an installed clang-format of that version, else PyPI's, kept in .cache/. Exit code 3: it is not available.
set -euo pipefail

version=19.1.7
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

is_right() { [[ $("$1" --version 2>/dev/null) == *" $version"* ]]; }
tool=
for candidate in clang-format clang-format-19 "$root/.cache/clang-format-$version/bin/clang-format"; do
  if is_right "$candidate"; then
    tool=$candidate
    break
  fi
done
if [[ -z $tool ]]; then
  folder=$root/.cache/clang-format-$version
  if ! python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --upgrade \
    --target "$folder" "clang-format==$version" </dev/null >&2; then
    echo "format.sh: clang-format $version is not installed, and pip cannot get it" >&2
    exit 3
  fi
  tool=$folder/bin/clang-format
  # The wheel's program is a Python script; the binary is in its module.
  if ! is_right "$tool"; then tool=$folder/clang_format/data/bin/clang-format; fi
  is_right "$tool"
fi

# The files of git; without git, all files outside of build folders.
files() {
  git ls-files -z '*.cpp' '*.hpp' '*.h' 2>/dev/null ||
    find . \( -path './build*' -o -path ./.cache \) -prune -o \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' \) -print0
}
case ${1:-} in
  "") files | xargs -0 "$tool" -i ;;
  --check)
    wrong=$(files | xargs -0 "$tool" --dry-run 2>&1 | sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: warning: code should be.*/FAIL \1/p' | sort -u)
    if [[ -n $wrong ]]; then
      echo "$wrong"
      echo "tests/format.sh formats them"
      exit 1
    fi
    echo "ok formatting of $(files | tr -cd '\0' | wc -c) files"
    ;;
  *) echo "usage: format.sh [--check]" >&2; exit 2 ;;
esac
