#!/usr/bin/env bash
# Compiles every public header alone, twice included, without exceptions and RTTI and with all warnings. One line
# per header and compiler.
#   check.sh COMPILER...
set -uo pipefail

include=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../include" && pwd)
failures=0
for compiler in "$@"; do
  for header in "$include"/heed/*.hpp; do
    name=heed/${header##*/}
    if printf '#include <%s>\n#include <%s>\n' "$name" "$name" |
      "$compiler" -std=c++20 -fno-exceptions -fno-rtti -Wall -Wextra -Wpedantic -Werror -I"$include" \
        -fsyntax-only -x c++ -; then
      echo "ok $name with $compiler"
    else
      echo "FAIL $name with $compiler"
      failures=$((failures + 1))
    fi
  done
done
[[ $failures -eq 0 ]]
