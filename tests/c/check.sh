#!/usr/bin/env bash
# The C interface from outside: languages, exported names, places of members, what changed since the last release. One line
# per check. A compiler that is not there is said on a line of "skip".
#   check.sh LIBRARY FOLDER   LIBRARY: libheed.a of a build; FOLDER: for what is made here
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
library=$1
folder=$2
mkdir -p "$folder"
failures=0

# check NAME COMMAND...: one line, and what the command printed if it failed.
check() {
  local name=$1
  shift
  if "$@" >"$folder/log" 2>&1; then
    echo "ok $name"
  else
    cat "$folder/log"
    echo "FAIL $name"
    failures=$((failures + 1))
    return 1
  fi
}
has() { command -v "$1" >/dev/null || { echo "skip $2: there is no $1"; return 1; }; }
same() { "${@:2}" | diff "$1" -; }
interface() { python3 "$here/interface.py" "$@"; }

strict=(-pedantic -Wall -Wextra -Werror "-I$root/include")
for header in "$root"/include/heed/c/*.h; do
  name=heed/c/${header##*/}
  printf '#include <%s>\n#include <%s>\nextern int unused;\n' "$name" "$name" >"$folder/alone.c"
  check "$name as C99, C11 and C++11" eval 'gcc -std=c99 "${strict[@]}" -Wpadded -fsyntax-only "$folder/alone.c" &&
    gcc -std=c11 "${strict[@]}" -fsyntax-only "$folder/alone.c" && g++ -x c++ -std=c++11 "${strict[@]}" -fsyntax-only "$folder/alone.c"'
done

interface layout-program >"$folder/layout.c"
check "layouts as C99" eval 'gcc -std=c99 "${strict[@]}" "$folder/layout.c" -o "$folder/layout" &&
  same "$here/layout.txt" "$folder/layout"'
check "layouts as C++11" eval 'g++ -x c++ -std=c++11 "${strict[@]}" "$folder/layout.c" -o "$folder/layout" &&
  same "$here/layout.txt" "$folder/layout"'
check "layouts by the rules" same "$here/layout.txt" interface layout
check "symbols.inc has the headers' functions" same "$here/symbols.inc" interface symbols

# The library as CMake links it with BUILD_SHARED_LIBS, of the objects that are there.
shared=$folder/libheed.so
check "a shared library" g++ -shared -o "$shared" -Wl,--whole-archive "$library" -Wl,--no-whole-archive \
  -Wl,--no-undefined "-Wl,--version-script=$root/engine/exports.map" -lutf8proc -lhwy -ldl -lpthread || exit 1
exported() { nm -D --defined-only "$shared" | sed -n 's/^[0-9a-f]* T \(heed_.*\)/HEED_C(\1)/p' | sort; }
wanted() { sed -n '/^HEED_C/p' "$here/symbols.inc" | sort; }
check "exports are those of symbols.inc" eval 'diff <(wanted) <(exported)'

# Since the last release only what a minor version may change has changed.
abi() {
  interface library "$1" >"$folder/$2.c" && gcc -std=c99 -g -shared -fPIC "$folder/$2.c" -o "$folder/$2.so"
}
compare() { abidiff --no-added-syms --suppressions "$here/appended.abignore" "$folder/old.so" "$folder/$1.so"; }
interface declarations >"$folder/now.h"
check "numbers and structs without size since the last release" interface compare "$here/released.h" "$folder/now.h"
if has abidiff "changes since the last release"; then
  check "declarations compile" eval 'abi "$here/released.h" old && abi "$folder/now.h" now'
  check "changes since the last release" compare now
  # The comparison itself: what breaks programs is seen, and what does not is not.
  while read -r name expected edit; do
    sed "$edit" "$here/released.h" >"$folder/edited.h"
    cmp -s "$here/released.h" "$folder/edited.h" && { echo "FAIL the edit '$name' changes nothing"; failures=$((failures + 1)); }
    abi "$folder/edited.h" edited
    if [[ $expected == fine ]]; then check "abidiff: $name is fine" compare edited
    else check "abidiff: $name is seen" eval '! compare edited'; fi
  done <<'EDITS'
append fine s/^} heed_run_info;/  int64_t later;\n&/
insert wrong s/^  const heed_input\* inputs;/  int64_t later;\n&/
remove wrong /^HEED_API heed_status heed_run_wait(/d
retype wrong s/int64_t from_row/int32_t from_row/
EDITS
fi

# Programs of others. Where there is a GPU or a software driver, the first takes that.
sed -n '/^```c$/,/^```$/p' "$root/include/heed/c/README.md" | sed '1d;$d' >"$folder/program.c"
use=("-L$folder" -lheed "-Wl,-rpath,$folder")
check "the README's program in C" eval 'gcc -std=c99 "${strict[@]}" "$folder/program.c" "${use[@]}" -o "$folder/program" &&
  "$folder/program" | tee "$folder/said" | grep -c "^token [0-2]: [0-9]" | grep -qx 3'
said='\[1(\.0)?, 5\.5\]: heed_plan_run: the plan is a handle of another kind'
if has rustc Rust; then
  check "a program in Rust" eval 'rustc -O --edition 2021 -L "$folder" -C link-arg="-Wl,-rpath,$folder" "$here/consumer.rs" \
    -o "$folder/rust" && "$folder/rust" | tee /dev/stderr | grep -qE "$said"'
fi
interface csharp >"$folder/Heed.cs"
interface csharp-layout >"$folder/Layout.cs"
if has mcs "C#"; then
  check "layouts in C#" eval 'mcs -out:"$folder/layout.exe" "$folder/Layout.cs" "$folder/Heed.cs" &&
    same "$here/layout.txt" mono "$folder/layout.exe"'
  check "a program in C#" eval 'mcs -out:"$folder/consumer.exe" "$here/Consumer.cs" "$folder/Heed.cs" &&
    LD_LIBRARY_PATH=$folder mono "$folder/consumer.exe" | tee /dev/stderr | grep -qE "$said"'
fi
interface zig >"$folder/heed.zig"
interface zig-layout >"$folder/layout.zig"
if has zig Zig; then
  check "layouts in Zig" eval 'same "$here/layout.txt" zig run "$folder/layout.zig" 2>&1'
fi
[[ $failures -eq 0 ]]
