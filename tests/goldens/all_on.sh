#!/usr/bin/env bash
# Runs `heed verify`, and fails unless a device whose name contains WORD computed each golden file of the folders.
#   all_on.sh WORD COMMAND... FOLDER...
set -uo pipefail

word=${1:?usage: all_on.sh WORD COMMAND... FOLDER...}
shift
folders=()
for argument in "$@"; do
  if [[ -d $argument ]]; then folders+=("$argument"); fi
done
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" | tee "$log"
code=${PIPESTATUS[0]}
cases=$(find "${folders[@]}" -name '*.safetensors' | wc -l)
lines=$(awk -v word="$word" '$1 == "ok" && index(tolower($4), word) { n++ } END { print n + 0 }' "$log")
if [[ $cases -gt 0 && $lines -ge $cases ]]; then
  echo "ok goldens: all $cases files on a device named $word"
else
  echo "FAIL goldens: $lines of $cases files were verified on a device named $word"
fi
exit "$code"
