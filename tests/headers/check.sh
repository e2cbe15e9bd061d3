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

# A function or class that lacks HEED_API cannot be called in a shared library.
for header in "$include"/heed/*.hpp; do
  name=heed/${header##*/}
  unmarked=$(grep -nE '^(class [A-Za-z]+( final)? \{|[A-Za-z_][A-Za-z0-9_:<>*&, ]* \*?&?[a-z_]+\()' "$header" |
    grep -vE '^[0-9]+:(HEED_API|class HEED_API|constexpr|inline|template|static|using|HostBuffer glm_buffer|GlmTensor glm_tensor)' |
    grep -v 'Status compile_glsl(')  # a library of its own, always static
  if [[ -z $unmarked ]]; then
    echo "ok $name is marked for export"
  else
    echo "FAIL $name is not marked with HEED_API: $unmarked"
    failures=$((failures + 1))
  fi
done
[[ $failures -eq 0 ]]
