# Builds the wheel, of the objects of the build, installs it into a fresh virtual environment, and runs tests/python on the CPU and on
# lavapipe, whose compiler takes most of the time. PyTorch and matplotlib take part where Debian's packages are there.
about="the wheel for Python builds, and its tests pass in a fresh virtual environment"
needs="build"
stage() {
  local venv=$build/python-venv python=/usr/bin/python3 driver drivers="lavapipe"
  "$root/tests/drivers/install.sh" python >"$logs/install.log" 2>&1 || true
  [[ -x $python ]] || python=$(type -P python3)
  rm -rf "$venv"
  # With the system's packages, since PyTorch of Debian is one of them.
  check "a virtual environment" "$python" -m venv --system-site-packages "$venv" || return
  if ! run_logged "PyPI" "$venv/bin/pip" install --quiet --disable-pip-version-check "pytest>=7" scikit-build-core cffi pycparser; then
    skip "PyPI cannot be reached, so the wheel was neither built nor tested: $(tail -n 1 "$log")"
    return
  fi
  # The tools are in the environment already, and a folder that stays lets the next build do only what changed.
  check "pip install ./engine/python" "$venv/bin/pip" install --disable-pip-version-check --no-build-isolation --force-reinstall \
    --no-deps "--config-settings=build-dir=$root/build-python" --config-settings=cmake.define.HEED_WERROR=ON "--config-settings=cmake.define.HEED_OBJECTS_OF=$build" \
    "$root/engine/python" || return
  check "its dependencies" "$venv/bin/pip" install --quiet --disable-pip-version-check numpy cffi || return
  "$venv/bin/python" -c "import torch" 2>/dev/null || skip "python3-torch is not installed, so nothing was compared with PyTorch"
  for driver in $drivers; do
    is_to_be_had $driver || driver=none
    check_pytest "tests/python on $driver" env PYTHONDONTWRITEBYTECODE=1 GALLIVM_PERF=nopt "$with" $driver "$venv/bin/python" -m pytest \
      -q -p no:cacheprovider --durations=20 -o python_files='*_test.py' "$root/tests/python"
  done
}

# check_pytest NAME COMMAND...: counts what pytest says at its end, "3 failed, 1 error, 20 passed, 2 skipped in 4.5s".
check_pytest() {
  local name=$1 code line good=0 bad=0
  run_logged "$@"
  code=$?
  line=$(grep -a -E '(passed|failed|errors?|skipped).* in [0-9.]+s' "$log" | tail -n 1)
  if [[ $line =~ ([0-9]+)\ passed ]]; then good=${BASH_REMATCH[1]}; fi
  if [[ $line =~ ([0-9]+)\ failed ]]; then bad=${BASH_REMATCH[1]}; fi
  if [[ $line =~ ([0-9]+)\ error ]]; then bad=$((bad + BASH_REMATCH[1])); fi
  passed=$((passed + good)) failed=$((failed + bad))
  grep -a -E '^(FAILED|ERROR) ' "$log" | head -n 40
  if [[ ($code -ne 0 && $bad -eq 0) || $((good + bad)) -eq 0 ]]; then
    tail -n 30 "$log"
    fail "$name ended with exit code $code (all of it: $log)"
  else
    echo "$name: $good passed, $bad failed ($line)"
  fi
}
