#!/usr/bin/env bash
# Prints the processor time of a fresh build, without ccache, by part, and the files that take most of it.
#   tests/build_time.sh [OPTION...]     options for CMake, e.g. -DHEED_PRECOMPILE=OFF
#
#   HEED_BUILD_TIME_FOLDER   builds there and keeps the result; default: a temporary folder
#   HEED_BUILD_TIME_JOBS     default: all processors. Processor time hardly depends on it
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${HEED_BUILD_TIME_FOLDER:-}
if [[ -z $folder ]]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
times=$folder/times
: >"$times"

# A launcher for the compiler and the linker: appends "user system output" to a log.
cat >"$folder/timed" <<'SCRIPT'
#!/usr/bin/env bash
for ((i = 1; i < $#; i++)); do [[ ${!i} == -o ]] && j=$((i + 1)) && output=${!j}; done
TIMEFORMAT="%U %S ${output:-?}"
{ time "$@" 2>&3; } 3>&2 2>>"${BASH_SOURCE[0]%/*}/times"
SCRIPT
chmod +x "$folder/timed"

cmake -S "$root" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DHEED_BUILD_TESTS=ON -DHEED_BUILD_SAMPLES=ON \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$folder/timed" -DCMAKE_CXX_LINKER_LAUNCHER="$folder/timed" "$@" >"$folder/log"
cmake --build "$folder/build" --parallel "${HEED_BUILD_TIME_JOBS:-$(nproc)}" >>"$folder/log" || { tail -n 20 "$folder/log" >&2; exit 1; }

model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$folder/build/CMakeCache.txt")
echo "$(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo "no commit"), $("$compiler" --version | head -n 1), ${model:-$(uname -m)}"
awk '
  # The part of the tree that an output belongs to.
  function part_of(output) {
    if (output !~ /\.(o|gch|pch)$/) return "linking"
    if (output ~ /^samples\/heed\// || output ~ /heed_program_parts/) return "heed"
    if (output ~ /^samples\//) return "other samples"
    if (output ~ /^tests\/bench\//) return "benchmarks"
    return output ~ /^tests\// ? "tests" : "library"
  }
  { part = part_of($3); seconds[part] += $1 + $2; files[part]++; all += $1 + $2 }
  END {
    print "\nprocessor time, s   files"
    n = split("library,heed,tests,benchmarks,other samples,linking", parts, ",")
    for (i = 1; i <= n; i++) if (parts[i] in files) printf "%-15s %7.1f %5d\n", parts[i], seconds[parts[i]], files[parts[i]]
    printf "%-15s %7.1f\n", "library, heed and tests", seconds["library"] + seconds["heed"] + seconds["tests"]
    printf "%-15s %7.1f\n\n", "all", all
  }' "$times"
awk '{ sub(/CMakeFiles\//, "", $3); sub(/\.dir\//, ": ", $3); printf "%.1f  %s\n", $1 + $2, $3 }' "$times" | sort -rn | head -n 10
