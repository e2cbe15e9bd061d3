# How a stage checks and counts. Sourced by stages.sh for a stage's own process, which has
#   $logs   a folder of its own for logs
# and counts what its checks find in
passed=0 failed=0

pass() { passed=$((passed + ${1:-1})); }
fail() {
  failed=$((failed + 1))
  echo "FAIL $*"
}
# skip WHY: says that something cannot be had here and is not tested, which is no failure. The end of a run says it
# again.
skip() {
  echo "SKIPPED: $*"
  echo "$*" >>"$logs/skipped"
}

# run_logged NAME COMMAND...: the output goes to a log with the name of the check; $log is the last one.
run_logged() {
  log=$logs/${1//[^A-Za-z0-9.-]/_}.log
  shift
  "$@" </dev/null >"$log" 2>&1
}

# check NAME COMMAND...: passes when the command succeeds.
check() {
  if run_logged "$@"; then
    pass
    echo "ok $1"
  else
    tail -n 40 "$log"
    fail "$1 (all of it: $log)"
    return 1
  fi
}

# check_lines NAME COMMAND...: counts the lines "ok ..." and "FAIL ..." that the command prints. A command that fails
# without a "FAIL" is one failure, as is one that prints neither; exit code 3 without either says that something cannot
# be had here.
check_lines() {
  run_logged "$@"
  count_lines "$1" "$log" $?
}
count_lines() {  # NAME LOG EXIT_CODE
  local name=$1 log=$2 code=$3 good bad
  good=$(grep -a -c '^ok ' "$log")
  bad=$(grep -a -c '^FAIL ' "$log")
  passed=$((passed + good)) failed=$((failed + bad))
  grep -a '^FAIL ' "$log" | head -n 40
  if [[ $code -eq 3 && $good -eq 0 && $bad -eq 0 ]]; then
    skip "$name: $(tail -n 1 "$log")"
  elif [[ $code -ne 0 && $bad -eq 0 ]]; then
    tail -n 20 "$log"
    fail "$name ended with exit code $code (all of it: $log)"
  elif [[ $good -eq 0 && $bad -eq 0 ]]; then
    fail "$name checked nothing (all of it: $log)"
  else
    echo "$name: $good ok, $bad failed"
  fi
}

# check_catch NAME COMMAND...: counts the test cases of a Catch2 console report (versions 2 and 3), which ends in one of
#   All tests passed (123 assertions in 45 test cases)
#   test cases: 45 | 44 passed | 1 failed
# A run that ends without either line has crashed, which is one failure. Version 2 counts cases that skip themselves
# with a warning as passed; they are taken off. The log says how long each case took.
check_catch() {
  local name=$1 code line good=0 bad=0 skipped=0
  run_logged "$@" -d yes
  code=$?
  line=$(grep -a -E '^(All tests passed \(|test cases: )' "$log" | tail -n 1)
  if [[ $line =~ ^All\ tests\ passed\ \(.*\ in\ ([0-9]+)\ test\ case ]]; then
    good=${BASH_REMATCH[1]}
  elif [[ -n $line ]]; then
    if [[ $line =~ ([0-9]+)\ passed ]]; then good=${BASH_REMATCH[1]}; fi
    if [[ $line =~ ([0-9]+)\ failed(\ *\||\ *$) ]]; then bad=${BASH_REMATCH[1]}; fi
  fi
  if [[ $line != *" skipped"* ]]; then skipped=$(skipped_cases "$log"); fi
  good=$((good > skipped ? good - skipped : 0))
  passed=$((passed + good)) failed=$((failed + bad))
  if [[ -z $line || ($code -ne 0 && $bad -eq 0) || $((good + bad)) -eq 0 ]]; then
    tail -n 40 "$log"
    fail "$name ended with exit code $code (all of it: $log)"
  elif [[ $bad -gt 0 ]]; then
    grep -a -B 8 -A 12 -E ': FAILED:$' "$log" | head -n 120
    echo "FAIL $name: $bad of $((good + bad)) test cases (all of it: $log)"
  else
    echo "ok $name: $good test cases$([[ $skipped -eq 0 ]] || echo ", $skipped skipped")"
  fi
}

# How many test cases of a Catch2 report warned that they were skipped. A case's name stands between two rules,
# then its file.
skipped_cases() {
  awk 'length($0) >= 70 && /^-+$/ { getline; if ($0 !~ /^\//) name = $0 }
       /^ *SKIPPED: / || /was not tested/ { cases[name] }
       END { for (name in cases) n++; print n + 0 }' "$1"
}

# configure FOLDER OPTIONS...: runs CMake, with Ninja unless FOLDER has another generator already.
configure() {
  local folder=$1 generator=()
  shift
  [[ -f $folder/CMakeCache.txt ]] || generator=(-G Ninja)
  cmake -S "$root" -B "$folder" "${generator[@]}" "$@"
}

# is_to_be_had DRIVER: whether with.sh has that driver here; if not, the stage is skipped.
is_to_be_had() {
  run_logged "driver $1" "$with" "$1" true
  case $? in
    0) ;;
    3) skip "the driver $1 cannot be had: $(tail -n 1 "$log")"; return 1 ;;
    *) cat "$log"; fail "the driver $1 does not start"; return 1 ;;
  esac
}

golden_folders=("$root/tests/goldens")  # of which all_goldens_on counts the files
# all_goldens_on WORD: whether the last log says that every file passed on a device of that name.
all_goldens_on() {
  local cases lines
  cases=$(find "${golden_folders[@]}" -name '*.safetensors' | wc -l)
  lines=$(awk -v word="$1" '$1 == "ok" && index(tolower($4), word) { n++ } END { print n + 0 }' "$log")
  if [[ $lines -lt $cases ]]; then
    fail "goldens: $lines of $cases files were verified on a device named $1"
  else
    pass
    echo "ok goldens: all $cases files on a device named $1"
  fi
}

# check_ctest LABEL: runs the tests of a label and counts them.
check_ctest() {
  run_logged "ctest -L $1" ctest --test-dir "$build" -L "^$1\$" --output-on-failure --verbose
  # "1/5 Test #2: package_static ...   Passed   12.3 sec" becomes the lines that count_lines counts.
  sed -n -E 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([a-z_]+) \.+ *Passed.*/ok \1/p
             s/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([a-z_]+) \.+ *\*+(.*)/FAIL \1: \2/p' "$log" >"$log.lines"
  count_lines "$1" "$log.lines" 0
}
