#!/usr/bin/env bash
# Runs a command that says what it checked: lines "ok ..." and "FAIL ...", the report of Catch2 (versions 2 and 3), or that of pytest.
#   counted.sh COMMAND...
# Exit code 0: it ended with 0, something passed and nothing failed. 3: it ended with 3 and checked nothing, since what it needs cannot
# be had here. 1: else, also where it ended with 0 and no check was made or no report came to its end.
set -uo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" </dev/null 2>&1 | tee "$log"
code=${PIPESTATUS[0]}
# Catch2's last line is "All tests passed (123 assertions in 45 test cases)", or "test cases: 45 | 44 passed | 1 failed".
good=$(grep -a -c -E '^(ok |All tests passed \(|[0-9]+ passed)' "$log")
bad=$(grep -a -c -E '^(FAIL |test cases: )' "$log")
if [[ $code -eq 3 && $good -eq 0 && $bad -eq 0 ]]; then exit 3; fi
if [[ $code -eq 0 && $good -gt 0 && $bad -eq 0 ]]; then exit 0; fi
echo "counted.sh: exit code $code, $good lines that say what passed, $bad that say what failed"
exit 1
