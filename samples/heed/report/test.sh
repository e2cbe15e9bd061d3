#!/usr/bin/env bash
# `heed report` on good and on bad inputs, on a Vulkan device: test.sh PROGRAM FOLDER DEVICE [NULL_DRIVER...]
# NULL_DRIVERs are drivers of tests/drivers/with.sh that compile and compute nothing.
set -uo pipefail

program=${1:?usage: test.sh PROGRAM FOLDER DEVICE [NULL_DRIVER...]}
folder=${2:?} device=${3:?}
shift 3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../../..
on=(report --device "$device")
source "$here/../../cases.sh"
validated() { "$root/tests/gpu/reports/table.py" --validate "$1" 2>&1 | grep -v '^ok '; }
state_of() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["parts"][sys.argv[2]]["state"])' "$1" "$2"; }

file=$folder/report.json
check report/all-parts-but-the-long-ones 0 "goldens +passed" --only pipelines,goldens,times,frames --seconds 0.02 --limit 120 --out "$file"
report report/follows-the-schema "$(validated "$file")"
check report/page 0 "model in the load's queue" --show "$file"
check report/compared-with-itself 0 "linear-1x3072x768 .* 1.00$" --compare "$file" "$file"
report report/names-nobody "$(grep -awF -e "$(id -un)" -e "$(hostname)" -e home -e tmp "$file")"

# A part that does not end, and a program that is killed.
check report/times-out 1 "did not end in its time" --only self-test --limit 1 --out "$folder/late.json"
report report/file-says-timed-out "$([[ $(state_of "$folder/late.json" self-test) == "timed out" ]] || cat "$folder/late.json")"
"$program" "${on[@]}" --only self-test --limit 60 --out "$folder/killed.json" >/dev/null 2>&1 &
running=$!
for ((i = 0; i < 1200; ++i)); do grep -qs '"self-test"' "$folder/killed.json" && break; sleep 0.1; done
kill -9 $running
wait $running 2>/dev/null
report report/file-says-running "$([[ $(state_of "$folder/killed.json" self-test) == running ]] || cat "$folder/killed.json")"
check report/shows-what-was-killed 1 "self-test +running" --show "$folder/killed.json"

on=(report)
check report/unknown-part 2 "^heed: " --only everything
check report/no-such-device 2 "^heed: " --device nothing-like-this --out "$folder/none.json"
report report/file-says-that-it-did-not-open "$(grep -q '"state": "failed"' "$folder/none.json" || cat "$folder/none.json"; validated "$folder/none.json")"
check report/cannot-write 2 "cannot write" --out "$folder/nowhere/report.json"
echo '{"format": 1' >"$folder/cut.json"
check report/cut-file 2 "is no report" --show "$folder/cut.json"
echo '{"format": 2, "device": {}, "parts": {}}' >"$folder/newer.json"
check report/newer-format 2 "has format 2" --compare "$file" "$folder/newer.json"
echo '{"format": 1, "device": 7, "parts": {"times": {"rows": [1, {"op": 2}]}, "bits": []}}' >"$folder/odd.json"
check report/odd-members 1 "a device that did not open" --show "$folder/odd.json"
check report/odd-members-compared 0 "times" --compare "$folder/odd.json" "$file"

for null in "$@"; do
  out=$("$root/tests/drivers/with.sh" "$null" "$program" report --only pipelines,goldens --limit 300 --out "$folder/$null.json" 2>&1)
  code=$?
  if [[ $code -eq 3 ]]; then
    echo "SKIPPED report/$null: $out"
    continue
  fi
  # A device that computes nothing fails the test of its first start; the report is about it all the same.
  report "report/$null-compiles" "$([[ $code -eq 1 && $out =~ pipelines\ +passed && $out =~ open\ +failed ]] ||
    echo "exit code $code: ${out:0:300}")"
  report "report/$null-follows-the-schema" "$(validated "$folder/$null.json")"
done
[[ $failures -eq 0 ]]
