#!/usr/bin/env bash
# Compiles every public header alone, included twice, without exceptions and RTTI and with all warnings; those of the C interface
# also as C99. Prints one line for each header, language and compiler.
#   check.sh COMPILER    exit code 3: it is not installed
set -uo pipefail

include=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../include" && pwd)
compiler=${1:?usage: check.sh COMPILER}
command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; exit 3; }
failures=0
# compiles NAME LANGUAGE FLAG...
compiles() {
  local name=$1 language=$2
  shift 2
  if printf '#include <%s>\n#include <%s>\n' "$name" "$name" |
    "$compiler" "$@" -Wall -Wextra -Wpedantic -pedantic-errors -Werror -I"$include" -fsyntax-only -x "$language" -; then
    echo "ok $name as $language with $compiler"
  else
    echo "FAIL $name as $language with $compiler"
    failures=$((failures + 1))
  fi
}
for header in "$include"/heed/*.hpp "$include"/heed/c/*.h; do
  name=${header#"$include"/}
  compiles "$name" c++ -std=c++20 -fno-exceptions -fno-rtti
  [[ $name != *.h ]] || compiles "$name" c -std=c99
done

# A function or class without HEED_API cannot be called in a shared library.
is_marked() {  # NAME LINES
  if [[ -z $2 ]]; then
    echo "ok $1 is marked for export"
  else
    echo "FAIL $1 is not marked with HEED_API: $2"
    failures=$((failures + 1))
  fi
}
for header in "$include"/heed/*.hpp; do
  is_marked "heed/${header##*/}" "$(grep -nE '^(class [A-Za-z]+( final)? \{|[A-Za-z_][A-Za-z0-9_:<>*&, ]* \*?&?[a-z_]+\()' "$header" |
    grep -vE '^[0-9]+:(HEED_API|class HEED_API|constexpr|inline|template|static|using|HostBuffer glm_buffer|GlmTensor glm_tensor)' |
    grep -v 'Status compile_glsl(')"  # a library of its own, always static
done
for header in "$include"/heed/c/*.h; do
  is_marked "${header#"$include"/}" "$(grep -nE '^[a-z_][a-z0-9_ ]* \*?heed_[a-z0-9_]+\(' "$header")"
done
[[ $failures -eq 0 ]]
