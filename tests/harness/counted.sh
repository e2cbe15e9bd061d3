#!/usr/bin/env bash
# Runs a command that reports its checks: lines "ok ..." and "FAIL ...", the report of Catch2 (versions 2 and 3), or that of pytest.
#   counted.sh COMMAND...
# Exit code 0: the command ended with 0, something passed and nothing failed. 3: it ended with 3 and checked nothing, since something that
# it needs is not available here. 1: all other cases, also if it ended with 0 but made no check or its report is incomplete.
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
