#!/usr/bin/env bash
# Tests counted.sh, which decides whether all other tests pass. Prints one line for each case.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
failed=0

# expect CODE NAME SCRIPT: counted.sh must end with this code for a command.
expect() {
  local out code
  out=$("$here/counted.sh" sh -c "$3" 2>&1)
  code=$?
  if [[ $code -eq $1 ]]; then echo "ok $2"; else
    echo "FAIL $2: exit code $code instead of $1: ${out//$'\n'/ }"
    failed=1
  fi
}
expect 0 "lines that pass" 'printf "ok a\nok b\n"'
expect 1 "a line that fails" 'printf "ok a\nFAIL b\n"'
expect 1 "no line" 'true'
expect 1 "an exit code" 'echo ok a; exit 2'
expect 1 "a crash" 'echo ok a; kill -SEGV $$'
expect 0 "test cases that pass" 'echo "All tests passed (3 assertions in 2 test cases)"'
expect 1 "test cases that fail" 'echo "test cases: 5 | 3 passed | 2 failed"; exit 2'
expect 1 "three assertions that fail, an exit code of 3" 'echo "test cases: 5 | 4 passed | 1 failed"; exit 3'
expect 1 "a report that does not come to its end" 'echo "Filters: [ops]"; exit 0'
expect 1 "no test case" 'echo "No tests ran"; exit 0'
expect 1 "a filter that matches nothing" 'echo "No test cases matched [x]"; echo "All tests passed (3 assertions in 2 test cases)"; exit 2'
expect 1 "a crash after the report" 'echo "All tests passed (3 assertions in 2 test cases)"; kill -SEGV $$'
expect 0 "pytest that passes" 'echo "20 passed, 2 skipped in 4.50s"'
expect 1 "pytest that fails" 'echo "1 failed, 20 passed in 4.50s"; exit 1'
expect 1 "pytest that skips all" 'echo "22 skipped in 4.50s"'
expect 3 "what cannot be had" 'echo "SKIPPED: no such thing"; exit 3'
expect 1 "what cannot be had after a check" 'echo ok a; exit 3'
exit $failed
