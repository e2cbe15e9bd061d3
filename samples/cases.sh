# Functions for tests of samples, which source this file with $program and $folder set. Each case prints a line, "ok NAME" or
# "FAIL NAME: why". $folder is emptied first. Programs run with the arguments of the array `on`, or on the CPU.

rm -rf "$folder"
mkdir -p "$folder"
failures=0
[[ -v on ]] || on=(--device cpu)

report() {  # NAME WHY; no WHY: it passed
  if [[ -z $2 ]]; then echo "ok $1"; else
    echo "FAIL $1: $2"
    failures=$((failures + 1))
  fi
}

# check NAME EXPECTED_CODE PATTERN ARGUMENTS...   PATTERN must match standard output and standard error together
check() {
  local name=$1 expected=$2 pattern=$3 out code why=""
  shift 3
  out=$(set -o pipefail; timeout 900 "$program" "${on[@]}" "$@" </dev/null 2>&1 | tr -d '\0')
  code=$?
  [[ $code -eq $expected ]] || why="exit code $code, expected $expected; "
  grep -qaE -- "$pattern" <<<"$out" || why+="no match for /$pattern/ in: ${out:0:300}"
  report "$name" "$why"
}

# says NAME EXPECTED ARGUMENTS...   standard output must be EXPECTED
says() {
  local name=$1 expected=$2 out
  shift 2
  out=$(timeout 900 "$program" "${on[@]}" "$@" </dev/null 2>"$folder/errors" | tr -d '\0')
  report "$name" "$([[ $out == "$expected" ]] || echo "'${out:0:300}', $(head -c 300 "$folder/errors")")"
}
