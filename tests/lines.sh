#!/usr/bin/env bash
# Counts the hand-written lines of code, or lists the files that name an operation or a kernel.
#   tests/lines.sh            engine and include, tests, samples, shaders
#   tests/lines.sh WORD       the hand-written files that have this word, e.g. l2_normalize
# Leaves out files that .gitattributes calls generated, pages, figures and data.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

code='\.(cpp|hpp|h|c|inc|py|pyi|sh|cmake|comp|glsl|rs|gd|cs|zig|lua)$|(^|/)(CMakeLists|variants)\.txt$'

# by_hand FOLDER...: the files of code there that are not generated.
by_hand() {
  git ls-files -- "$@" | { grep -E "$code" || true; } | git check-attr --stdin linguist-generated |
    sed -n -E 's/: linguist-generated: (unspecified|unset|false)$//p'
}
if [[ $# -gt 0 ]]; then
  by_hand . | xargs grep -l -i -- "$1"
  exit
fi
for part in "engine include" tests samples shaders; do
  printf '%-16s %7d lines\n' "$part" "$(by_hand $part | xargs cat | wc -l)"
done
