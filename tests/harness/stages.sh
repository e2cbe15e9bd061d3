# Runs stages, two side by side where there are two processors. Sourced by run.sh, and by the self-test with stages of
# its own.
#
# A stage is a file NAME.sh in the folder $stages that sets
#   about    one line that says what is tested
#   needs    stages that must have ended without a failure before it starts; they are run, too
#   alone=1  if no other stage may run beside it, since it keeps all processors busy
# and has a function `stage` that tests, with the checks of checks.sh. It runs in a process of its own, from the root of
# the repository, with
#   $root $build $logs   the repository, the build in build/, a folder for the stage's logs
#   $with $tests $heed   tests/drivers/with.sh, the program with all tests, the program `heed`
#   $quick               1 in the quick tier, where some stages do a part of their work
#   $jobs                how many processors it may keep busy; `cmake --build` and ctest know that by themselves
# A stage fails where something is missing that must be there, and calls `skip WHY` where some systems lack it.
stages_at_once=$(($(nproc) > 1 ? 2 : 1))
declare -A state=() pid_of=() started=()  # by stage; state: waiting, running, passed, failed, skipped, left out
running=() table=() alone=''

# setting NAME VARIABLE: prints the value that the stage's file gives the variable.
setting() (
  about='' needs='' alone=''
  source "$stages/$1.sh"
  echo "${!2}"
)

# with_needs STAGE...: prints these stages and all that they need, each once, before those that need it.
declare -A listed=()
with_needs() {
  local name
  for name in "$@"; do
    [[ -z ${listed[$name]:-} ]] || continue
    listed[$name]=1
    # shellcheck disable=SC2046  # a list of names
    with_needs $(setting "$name" needs)
    echo "$name"
  done
}

# The body of a stage's process, which leaves its counts in $logs/counts. A stage without that file was killed.
run_stage() (
  set +m
  name=$1 ended=0 alone='' passed=0 failed=0
  source "$stages/$name.sh"
  jobs=$(nproc)
  [[ -n $alone ]] || jobs=$((jobs / stages_at_once))
  export CMAKE_BUILD_PARALLEL_LEVEL=$jobs CTEST_PARALLEL_LEVEL=$jobs
  leave() {
    local code=$?
    [[ $ended -eq 1 ]] || fail "the stage ended before its end, with exit code $code"
    [[ $passed -gt 0 || $failed -gt 0 || -s $logs/skipped ]] || fail "the stage checked nothing"
    times >"$logs/times"
    echo "$passed $failed $(awk -F '[ms ]' 'NR == 2 { printf "%.0f", 60 * ($1 + $4) + $2 + $5 }' "$logs/times")" >"$logs/counts"
  }
  trap leave EXIT
  stage
  ended=1
)

start() {
  local name=$1
  logs=$build/stages/$name
  rm -rf "$logs" && mkdir -p "$logs"
  echo "   $name starts: $(setting "$name" about)"
  set -m  # a process group of its own, so that an interrupt ends all that it started
  run_stage "$name" </dev/null >"$logs/output" 2>&1 &
  set +m
  pid_of[$name]=$! started[$name]=$SECONDS state[$name]=running running+=("$name")
}

# Prints everything that an ended stage said, and adds its counts.
end() {
  local name=$1 logs=$build/stages/$1 good=0 bad=0 busy='?' seconds=$((SECONDS - started[$1]))
  printf '\n== %s: %s\n' "$name" "$(setting "$name" about)"
  cat "$logs/output"
  if [[ -s $logs/counts ]]; then
    read -r good bad busy <"$logs/counts"
  else
    bad=1
    echo "FAIL $name was killed"
  fi
  passed=$((passed + good)) failed=$((failed + bad))
  [[ $name != "$alone" ]] || alone=''
  state[$name]=passed
  [[ ! -s $logs/skipped ]] || state[$name]=skipped
  [[ $bad -eq 0 ]] || state[$name]=failed
  printf -- '-- %s: %d passed, %d failed, %d s\n\n' "$name" "$good" "$bad" "$seconds"
  table+=("$(printf '%-16s %6d %6d %8d %10s' "$name" "$good" "$bad" "$seconds" "$busy")")
}

# is_ready NAME: whether all stages that it needs have passed. If one of them has failed, the stage is left out.
is_ready() {
  local name=$1 need
  for need in $(setting "$name" needs); do
    case ${state[$need]} in
      passed | skipped) ;;
      waiting | running) return 1 ;;
      *)
        state[$name]="left out"
        echo "   $name is left out, since it needs $need"
        table+=("$(printf '%-16s left out: it needs %s' "$name" "$need")")
        return 1
        ;;
    esac
  done
}

start_what_can() {
  local name
  for name in "$@"; do
    [[ ${state[$name]} == waiting ]] || continue
    [[ ${#running[@]} -lt $stages_at_once && -z $alone ]] || return
    is_ready "$name" || continue
    if [[ -n $(setting "$name" alone) ]]; then
      [[ ${#running[@]} -eq 0 ]] || return
      alone=$name
    fi
    start "$name"
  done
}

# run_stages STAGE...: runs them in this order as far as their needs allow; adds to $passed and $failed, and fills
# $table.
run_stages() {
  local name left still
  trap 'for name in "${running[@]}"; do kill -TERM -- -"${pid_of[$name]}" 2>/dev/null; done; exit 130' INT TERM
  for name in "$@"; do state[$name]=waiting; done
  while [[ " ${state[*]} " =~ " waiting "|" running " ]]; do
    left=${state[*]}
    start_what_can "$@"
    if [[ ${#running[@]} -eq 0 ]]; then
      [[ $left != "${state[*]}" ]] || { fail "stages that need each other cannot start"; break; }
      continue
    fi
    sleep 0.1
    still=()
    for name in "${running[@]}"; do
      if kill -0 "${pid_of[$name]}" 2>/dev/null; then still+=("$name"); else end "$name"; fi
    done
    running=("${still[@]}")
  done
}

# Prints a line for each skip.
print_skipped() {
  local name
  for name in "$@"; do
    [[ ! -s $build/stages/$name/skipped ]] || sed "s/^/SKIPPED in $name: /" "$build/stages/$name/skipped"
  done
}
