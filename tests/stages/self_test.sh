# Finds mistakes of tests/run.sh: wrong counts for stages that fail, crash, check nothing, are skipped or need one
# another; stages that no tier runs; arguments that it does not know.
about="stages are run and counted right"

# expect NAME WANTED FOUND
expect() {
  if [[ $3 == "$2" ]]; then
    pass
    echo "ok $1"
  else
    fail "$1: '$3' instead of '$2'"
  fi
}

# A folder of small stages.
write_stages() {
  mkdir -p "$1"
  cd "$1"
  echo 'stage() { check yes true; check_lines lines printf "ok a\nok b\n"; }' >passes.sh
  echo 'stage() { check no false; check yes true; }' >fails.sh
  echo 'stage() { check_lines lines printf "ok a\nFAIL b\n"; }' >fails_in_a_line.sh
  echo 'stage() { check_lines lines true; }' >has_an_empty_log.sh
  echo 'stage() { check_catch catch sh -c "echo All tests passed \(3 assertions in 2 test cases\)"; }' >passes_catch.sh
  echo 'stage() { check_catch catch sh -c "echo test cases: 5 \| 3 passed \| 2 failed; exit 2"; }' >fails_catch.sh
  echo 'stage() { check_catch catch sh -c "kill -SEGV \$\$"; }' >crashes_catch.sh
  echo 'stage() { :; }' >checks_nothing.sh
  echo 'stage() { skip "no such thing"; }' >is_skipped.sh
  echo 'stage() { check_lines lines sh -c "echo no such thing; exit 3"; }' >is_skipped_by_code.sh
  echo 'stage() { check yes true; exit 0; }' >exits.sh
  echo 'stage() { check yes true; kill -KILL $BASHPID; }' >is_killed.sh
  echo 'stage() { check yes true; echo "$no_such_variable"; }' >has_a_typo.sh
  echo 'needs=fails; stage() { check yes true; }' >needs_fails.sh
  echo 'needs="passes is_skipped"; alone=1; stage() { check yes true; }' >needs_passes.sh
  echo 'alone=1; stage() { touch "$build/alone"; sleep 0.3; rm "$build/alone"; check yes true; }' >is_alone.sh
  echo 'stage() { check alone test ! -e "$build/alone"; sleep 0.3; check alone_later test ! -e "$build/alone"; }' >is_beside.sh
  echo 'needs=needs_itself; stage() { check yes true; }' >needs_itself.sh
}

# counts_of STAGE...: prints the counts of a run of these stages, and the result of each.
counts_of() {
  root=$root build=$logs/build stages=$logs/stages bash -uc '
    source "$root/tests/harness/checks.sh"
    source "$root/tests/harness/stages.sh"
    mapfile -t chosen < <(with_needs "$@")
    run_stages "${chosen[@]}" >>"$build.log" 2>&1
    echo "$passed passed, $failed failed: $(for name in "${chosen[@]}"; do echo "${state[$name]}"; done | paste -sd,)"' - "$@"
}

stage() {
  local name
  (write_stages "$logs/stages")
  expect "what passes" "3 passed, 0 failed: passed" "$(counts_of passes)"
  expect "a check that fails" "1 passed, 1 failed: failed" "$(counts_of fails)"
  expect "a line that fails" "1 passed, 1 failed: failed" "$(counts_of fails_in_a_line)"
  expect "an empty log" "0 passed, 1 failed: failed" "$(counts_of has_an_empty_log)"
  expect "test cases" "2 passed, 0 failed: passed" "$(counts_of passes_catch)"
  expect "test cases that fail" "3 passed, 2 failed: failed" "$(counts_of fails_catch)"
  expect "a test that crashes" "0 passed, 1 failed: failed" "$(counts_of crashes_catch)"
  expect "a stage that checks nothing" "0 passed, 1 failed: failed" "$(counts_of checks_nothing)"
  expect "a stage that is skipped" "0 passed, 0 failed: skipped" "$(counts_of is_skipped)"
  expect "a check that is skipped" "0 passed, 0 failed: skipped" "$(counts_of is_skipped_by_code)"
  expect "a stage that exits" "1 passed, 1 failed: failed" "$(counts_of exits)"
  expect "a stage that is killed" "0 passed, 1 failed: failed" "$(counts_of is_killed)"
  expect "a variable that is not set" "1 passed, 1 failed: failed" "$(counts_of has_a_typo)"
  expect "a need that fails" "1 passed, 1 failed: failed,left out" "$(counts_of needs_fails)"
  expect "needs that pass" "4 passed, 0 failed: passed,skipped,passed" "$(counts_of needs_passes)"
  expect "a need that is not to be met" "0 passed, 1 failed: waiting" "$(counts_of needs_itself)"
  expect "several, side by side" "6 passed, 2 failed: passed,failed,failed,passed" \
    "$(counts_of passes fails checks_nothing passes_catch)"

  expect "a stage alone, first" "3 passed, 0 failed: passed,passed" "$(counts_of is_alone is_beside)"
  expect "a stage alone, later" "3 passed, 0 failed: passed,passed" "$(counts_of is_beside is_alone)"

  check_lines "every stage has its place in run.sh and in README.md" list_places
  expect "an unknown stage" "2" "$("$root/tests/run.sh" nonsense >"$logs/unknown" 2>&1; echo $?)"
  expect "which are named" "1" "$(grep -c '^  interpreter ' "$logs/unknown")"
  check "--list" "$root/tests/run.sh" --list
  check "--help" "$root/tests/run.sh" --help
}

list_places() {
  local file name
  for file in "$stages"/*.sh; do
    name=$(basename "$file" .sh)
    if [[ " $(echo $all_stages $other_stages) " != *" $name "* ]]; then
      echo "FAIL run.sh does not know $name"
    elif ! grep -q "^| $name |" "$root/tests/README.md"; then
      echo "FAIL tests/README.md has no row for $name"
    elif [[ -z $(setting "$name" about) ]]; then
      echo "FAIL $name does not say what it is about"
    else
      echo "ok $name"
    fi
  done
}
