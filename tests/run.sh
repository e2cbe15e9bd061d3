#!/usr/bin/env bash
# Installs what is missing (Debian, Ubuntu), builds heed in several ways and runs every test on every driver.
# The last line is "N passed, N failed"; the exit code is 0 if nothing failed.
#
#   HEED_TEST_DRIVERS   space-separated, as tests/drivers/with.sh knows them;
#                       default: lavapipe-128 lavapipe-256 lavapipe-512 lavapipe-26 swiftshader none
#   HEED_TEST_STAGES    space-separated part of: shaders build drivers interpreter bounds memcheck targets glsl compilers capture
#                       tour search swarm headers packaging clang sanitize tsan; default: all of these. Also: aarch64 (in an
#                       emulator, slow), windows (MinGW and Wine),
#                       random (every kernel variant on graphs drawn at random: 2,000 cases, or HEED_RANDOM_CASES;
#                       and graphs of many operations: a twentieth as many, or HEED_COMPOSITIONS)
#   HEED_HOSTILE_CASES  how many damaged files, damaged blobs and absurd programs of each kind to try; default: some
#                       hundreds (tests/hostile)
#
# Logs go to build/tests-*.log and build-*/.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
jobs=$(nproc)
build=$root/build
all_stages="shaders build drivers interpreter bounds memcheck targets glsl compilers capture tour search swarm headers packaging clang sanitize tsan"
stages=" ${HEED_TEST_STAGES:-$all_stages} "
passed=0
failed=0

# --- Counting ---------------------------------------------------------------------------------------------------

stage_start=0 stage_passed=0 stage_failed=0
begin() {
  stage_start=$SECONDS stage_passed=$passed stage_failed=$failed
  printf '\n== %s\n' "$*"
}
end() {
  printf -- '-- %d passed, %d failed, %d s\n' $((passed - stage_passed)) $((failed - stage_failed)) \
    $((SECONDS - stage_start))
}
pass() { passed=$((passed + ${1:-1})); }
fail() {
  failed=$((failed + 1))
  echo "FAIL $*"
}
wants() { [[ $stages == *" $1 "* ]]; }
finish() {
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  [[ $failed -eq 0 && $passed -gt 0 ]]
  exit
}

# step NAME LOG COMMAND...: one check that passes when the command succeeds.
step() {
  local name=$1 log=$2
  shift 2
  mkdir -p "$(dirname "$log")"
  if "$@" </dev/null >"$log" 2>&1; then
    pass
    echo "ok $name"
  else
    tail -n 40 "$log"
    fail "$name (all of it: $log)"
    return 1
  fi
}

# Counts the lines "ok ..." and "FAIL ..." of a log. A command that fails without such a line counts as one failure.
count_lines() {
  local name=$1 log=$2 code=$3 good bad
  good=$(grep -c '^ok ' "$log")
  bad=$(grep -c '^FAIL ' "$log")
  passed=$((passed + good)) failed=$((failed + bad))
  grep '^FAIL ' "$log" | head -n 40
  if [[ $code -ne 0 && $bad -eq 0 ]]; then
    tail -n 20 "$log"
    fail "$name ended with exit code $code (all of it: $log)"
  elif [[ $good -eq 0 && $bad -eq 0 ]]; then
    fail "$name checked nothing (all of it: $log)"
  else
    echo "$name: $good ok, $bad failed"
  fi
}
run_lines() {
  local name=$1 log=$2
  shift 2
  "$@" </dev/null >"$log" 2>&1
  count_lines "$name" "$log" $?
}

# How many test cases of a Catch2 report warned that they were skipped. A case's name stands between two rules,
# then its file.
skipped_cases() {
  awk 'length($0) >= 70 && /^-+$/ { getline; if ($0 !~ /^\//) name = $0 }
       /^ *SKIPPED: / || /was not tested/ { cases[name] }
       END { for (name in cases) n++; print n + 0 }' "$1"
}

# Counts the test cases of a Catch2 console report (versions 2 and 3), which ends in one of
#   All tests passed (123 assertions in 45 test cases)
#   test cases: 45 | 44 passed | 1 failed
# A run that ends without such a line has crashed: one failure. Version 2 counts cases that skip themselves with a
# warning as passed; they are taken off.
run_catch() {
  local name=$1 log=$2 code line good=0 bad=0 skipped
  shift 2
  "$@" </dev/null >"$log" 2>&1
  code=$?
  line=$(grep -a -E '^(All tests passed \(|test cases: )' "$log" | tail -n 1)
  if [[ $line =~ ^All\ tests\ passed\ \(.*\ in\ ([0-9]+)\ test\ case ]]; then
    good=${BASH_REMATCH[1]}
  elif [[ -n $line ]]; then
    if [[ $line =~ ([0-9]+)\ passed ]]; then good=${BASH_REMATCH[1]}; fi
    if [[ $line =~ ([0-9]+)\ failed(\ *\||\ *$) ]]; then bad=${BASH_REMATCH[1]}; fi
  fi
  skipped=0
  if [[ $line != *" skipped"* ]]; then skipped=$(skipped_cases "$log"); fi
  good=$((good > skipped ? good - skipped : 0))
  passed=$((passed + good)) failed=$((failed + bad))
  if [[ $code -eq 3 && -z $line ]]; then
    tail -n 3 "$log"
    fail "$name: the driver is not to be had"
  elif [[ -z $line || ($code -ne 0 && $bad -eq 0) || $((good + bad)) -eq 0 ]]; then
    tail -n 40 "$log"
    fail "$name ended with exit code $code (all of it: $log)"
  elif [[ $bad -gt 0 ]]; then
    grep -a -B 8 -A 12 -E ': FAILED:$' "$log" | head -n 120
    echo "FAIL $name: $bad of $((good + bad)) test cases (all of it: $log)"
  else
    echo "ok $name: $good test cases$([[ $skipped -eq 0 ]] || echo ", $skipped skipped")"
  fi
}

# --- Stages ------------------------------------------------------------------------------------------------------

configure() {  # FOLDER OPTIONS...
  local folder=$1 generator=()
  shift
  [[ -f $folder/CMakeCache.txt ]] || generator=(-G Ninja)
  cmake -S "$root" -B "$folder" "${generator[@]}" "$@"
}

stage_shaders() {
  begin "shaders: the committed SPIR-V is what the pinned compiler makes of the sources"
  step "shaders/compile.sh --check" "$build/tests-shaders.log" "$root/shaders/compile.sh" --check
  end
}

stage_build() {
  begin "build with GCC, warnings are errors"
  step "configure" "$build/tests-configure.log" configure "$build" -DCMAKE_BUILD_TYPE=Release \
    -DHEED_WERROR=ON -DHEED_BUILD_TESTS=ON -DHEED_BUILD_SAMPLES=ON &&
    step "build" "$build/tests-build.log" cmake --build "$build" --parallel "$jobs"
  local built=$?
  end
  return $built
}

drivers() { echo "${HEED_TEST_DRIVERS:-lavapipe-128 lavapipe-256 lavapipe-512 lavapipe-26 swiftshader none}"; }

# Every golden case must have passed on the driver that was asked for, not on another one.
check_coverage() {
  local driver=$1 log=$2 word cases lines
  case $driver in
    lavapipe*) word=llvmpipe ;;
    swiftshader) word=SwiftShader ;;
    none) word=cpu ;;
    *) return ;;
  esac
  cases=$(find "$root/tests/goldens" -name '*.safetensors' | wc -l)
  lines=$(awk -v word="$(echo $word | tr '[:upper:]' '[:lower:]')" \
    '$1 == "ok" && index(tolower($4), word) { n++ } END { print n + 0 }' "$log")
  if [[ $lines -lt $cases ]]; then
    fail "goldens on $driver: $lines of $cases files were verified on a device named $word"
  else
    pass
    echo "ok goldens on $driver: all $cases files on a device named $word"
  fi
}

stage_driver() {
  local driver=$1 with=("$root/tests/drivers/with.sh" "$1") log
  begin "driver $driver"
  export HEED_DRIVER_FOLDER=$build/drivers
  if ! "${with[@]}" true 2>"$build/tests-$driver.log"; then
    cat "$build/tests-$driver.log"
    fail "driver $driver is not to be had"
    end
    return
  fi
  local part=("~[.]~[model]") settings=()  # [model]: the search stage runs these
  case $driver in
    # Its newer validation layer words its findings in another way, which tests of missing barriers do not know.
    # Its compiler takes seconds for attention on matrix units: a fourth of each table, and all that the random graphs draw.
    lavapipe-26)
      part=("*on every device,[random],[matrix],[drivers],adopt*")
      settings=(env HEED_TEST_EVERY=4)
      ;;
    # It is slow. `heed verify` below runs the same goldens with the same kernels; which calls of Vulkan can fail is
    # lavapipe's to show, as are self-tests of all kernels, minutes each; and a third of each table goes with the random
    # graphs that reach every kernel.
    swiftshader)
      part=('~[.]~[model]~"goldens: pass on every device"~"failures: whatever call fails*"~"self-test: *"')
      settings=(env HEED_TEST_EVERY=3 "HEED_RANDOM_CASES=${HEED_RANDOM_CASES:-250}")
      ;;
  esac
  run_catch "heed_tests on $driver" "$build/tests-$driver.log" "${settings[@]}" "${with[@]}" "$build/tests/heed_tests" "${part[@]}"
  log=$build/tests-$driver-verify.log
  run_lines "heed verify on $driver" "$log" \
    "${with[@]}" "$build/samples/heed/heed" verify --device all "$root/tests/goldens"
  check_coverage "$driver" "$log"
  end
}

# Every kernel variant, and graphs of many operations, against the references in double; a failure says how to repeat it.
stage_random() {
  local driver count=${HEED_RANDOM_CASES:-2000}
  begin "random graphs: at least $count cases on each driver"
  export HEED_DRIVER_FOLDER=$build/drivers
  for driver in $(drivers); do
    [[ $driver != none ]] || continue
    local log=$build/tests-random-$driver.log
    run_catch "random graphs on $driver" "$log" env "HEED_RANDOM_CASES=$count" \
      "$root/tests/drivers/with.sh" "$driver" "$build/tests/heed_tests" "random graphs on every kernel variant"
    grep -a -A 100 '^random cases: ' "$log" | grep -a -E '^(random cases| +[0-9]+  )'
    log=$build/tests-compositions-$driver.log
    run_catch "compositions on $driver" "$log" env "HEED_COMPOSITIONS=${HEED_COMPOSITIONS:-$((count / 20))}" \
      "$root/tests/drivers/with.sh" "$driver" "$build/tests/heed_tests" "compositions of operations on every device"
    grep -a -A 20 '^compositions: ' "$log" | grep -a -E '^(compositions|  [a-z].* compositions)'
  done
  log=$build/tests-random-interpreter.log
  run_catch "random graphs on interpreted kernels" "$log" env "HEED_RANDOM_CASES=$count" HEED_TEST_DEVICES=spirv \
    "$root/tests/drivers/with.sh" none "$build/tests/heed_tests" "random graphs on every kernel variant"
  grep -a -A 200 '^random cases: ' "$log" | grep -a -E '^(random cases| +[0-9]+  )'
  end
}

# The kernels of GPUs that are not here, without any driver: goldens, a third of each table and random graphs on machines that
# differ in subgroups and matrix units (tests/interpreter/device.hpp), where races, accesses outside of what is bound and
# reads of what nobody has written are failures, too. Everything of one of them, and the barriers that nobody would miss:
#   HEED_TEST_DEVICES=spirv:nvidia tests/drivers/with.sh none build/tests/heed_tests "[ops],[goldens],[random]"
#   HEED_MUTATIONS=100 tests/drivers/with.sh none build/tests/heed_tests "interpreter: kernels without*"
stage_interpreter() {
  local part
  begin "kernels on an interpreter of SPIR-V, with the capabilities of GPUs"
  local with=(env HEED_TEST_DEVICES=spirv HEED_RANDOM_CASES=400 HEED_COMPOSITIONS=20 "$root/tests/drivers/with.sh" none)
  run_catch "faults put into kernels are noticed" "$build/tests-interpreter-faults.log" "${with[@]}" \
    "$build/tests/heed_tests" "[interpreter]"
  run_catch "heed_tests on interpreted kernels" "$build/tests-interpreter.log" env HEED_TEST_EVERY=3 "${with[@]}" \
    "$build/tests/heed_tests" '"*on every device"~"goldens*"~"compositions*"'
  run_catch "goldens and random graphs on interpreted kernels" "$build/tests-interpreter-random.log" "${with[@]}" \
    "$build/tests/heed_tests" "goldens: pass*,random graphs on every*,compositions of operations*"
  for part in $(grep -a -o 'spirv:[a-z0-9]*' "$build/tests-interpreter.log" | sort -u); do echo "   on $part"; done
  end
}

# Every kernel variant that GPUs would have, once, with each access to memory checked, and whatever is quick to compile so. The
# first test shows that a wrong access is reported. The other variants, which take minutes more:
#   HEED_CHECK_BOUNDS=1 HEED_RANDOM_CASES=0 tests/drivers/with.sh lavapipe-26 build/tests/heed_tests "random graphs on every*"
stage_bounds() {
  begin "no kernel reads or writes outside of what is bound to it"
  export HEED_DRIVER_FOLDER=$build/drivers
  local with=(env HEED_CHECK_BOUNDS=1 HEED_KERNELS=gpu HEED_TEST_DEVICES=vulkan HEED_RANDOM_CASES=0 HEED_COMPOSITIONS=5
    "$root/tests/drivers/with.sh" lavapipe-26)
  run_catch "a wrong access is reported" "$build/tests-bounds-control.log" "${with[@]}" "$build/tests/heed_tests" "[bounds]"
  run_catch "heed_tests with accesses checked" "$build/tests-bounds.log" "${with[@]}" "$build/tests/heed_tests" \
    "random graphs on every*,compositions*,[custom],record:*,concat*,cast*,embedding*,mean on*,elementwise on*,softmax on*"
  end
}

# What no sanitizer sees: results that depend on memory that nobody wrote. Valgrind has processors up to AVX2.
stage_memcheck() {
  begin "no result of the CPU device comes from memory that nobody wrote"
  run_catch "heed_tests under valgrind" "$build/tests-memcheck.log" env HEED_TEST_EVERY=8 HEED_TEST_DEVICES=cpu \
    "$root/tests/drivers/with.sh" none valgrind -q --error-exitcode=9 "$build/tests/heed_tests" \
    '"*on every device"~"goldens*",random graphs on the CPU*'
  end
}

# Registers, spills, occupancy and instructions of every kernel on GPUs of several makers, which need not be there.
stage_compilers() {
  begin "kernels as the compilers for AMD's, NVIDIA's, Apple's and Qualcomm's GPUs make them"
  "$root/tests/gpu/isa.sh" </dev/null >"$build/tests-compilers.log" 2>&1
  local code=$?
  if [[ $code -eq 3 ]]; then
    tail -n 3 "$build/tests-compilers.log"
    echo "SKIPPED: the drivers are not to be had, so no kernel was checked"
  else
    count_lines "tests/gpu/isa.sh" "$build/tests-compilers.log" $code
  fi
  end
}

# Labels and names in a RenderDoc capture, where RenderDoc is installed.
stage_capture() {
  command -v renderdoccmd >/dev/null && [[ " $(drivers) " == *lavapipe* ]] || return
  begin "a RenderDoc capture on lavapipe"
  run_lines "tests/vulkan/renderdoc.sh" "$build/tests-capture.log" \
    "$root/tests/drivers/with.sh" lavapipe "$root/tests/vulkan/renderdoc.sh" "$build/tests/heed_tests" "$build/capture"
  end
}

stage_tour() {
  begin "the tour, with good and bad inputs"
  run_lines "samples/tour/test.sh" "$build/tests-tour.log" \
    "$root/tests/drivers/with.sh" none "$root/samples/tour/test.sh" "$build/samples/tour/tour" "$build/tour-test"
  if [[ " $(drivers) " == *lavapipe* ]]; then
    step "the tour on lavapipe" "$build/tests-tour-lavapipe.log" \
      "$root/tests/drivers/with.sh" lavapipe "$build/samples/tour/tour" --device llvmpipe --out "$build/tour"
  fi
  end
}

# The search sample, then the 500 sentences of tests/search with the real model, if that can be downloaded: all of
# them on the CPU device, every eighth on software drivers, unless HEED_ALL_SENTENCES=1.
stage_search() {
  begin "search, with good and bad inputs, and all-MiniLM-L6-v2"
  run_lines "samples/search/test.sh" "$build/tests-search.log" \
    "$root/tests/drivers/with.sh" none "$root/samples/search/test.sh" "$build/samples/search/search" "$build/search-test"
  if ! "$root/samples/search/fetch_model.sh" </dev/null >"$build/tests-search-fetch.log" 2>&1; then
    tail -n 3 "$build/tests-search-fetch.log"
    echo "SKIPPED: no model, so none of its 500 sentences was checked on any device"
    end
    return
  fi
  local driver word all
  for driver in none lavapipe swiftshader; do
    [[ $driver == none || " $(drivers) " == *" $driver"* ]] || continue
    case $driver in none) word=cpu ;; lavapipe) word=llvmpipe ;; *) word=swiftshader ;; esac
    all=${HEED_ALL_SENTENCES:-0}
    [[ $driver == none ]] && all=1
    run_catch "sentences on $word" "$build/tests-search-$word.log" \
      env HEED_REQUIRE_MODEL=1 HEED_ALL_SENTENCES=$all HEED_TEST_DEVICES=$word \
      "$root/tests/drivers/with.sh" $driver "$build/tests/heed_tests" "[model]"
  done
  end
}

# The swarm: how its crowds behave, its pictures and its window, on one width of lavapipe and on SwiftShader.
stage_swarm() {
  begin "swarm: behaviour, pictures, window and wrong input"
  local driver
  export HEED_DRIVER_FOLDER=$build/drivers
  for driver in lavapipe-256 swiftshader none; do
    [[ " $(drivers) " == *" $driver "* ]] || continue
    local options=()
    case $driver in swiftshader) options=(--short) ;; none) options=(--bad-only) ;; esac
    run_lines "samples/swarm/test.sh on $driver" "$build/tests-swarm-$driver.log" \
      "$root/tests/drivers/with.sh" $driver "$root/samples/swarm/test.sh" "$build/samples/swarm" \
      "$build/swarm-test-$driver" "${options[@]}"
  done
  end
}

stage_headers() {
  begin "public headers, each alone"
  local compilers=()
  for compiler in g++ clang++; do
    command -v $compiler >/dev/null && compilers+=("$compiler")
  done
  run_lines "public headers" "$build/tests-headers.log" "$root/tests/headers/check.sh" "${compilers[@]}"
  end
}

stage_packaging() {
  begin "packaging: find_package static and shared, add_subdirectory, FetchContent; nothing outside main"
  local log=$build/tests-packaging.log
  ctest --test-dir "$build" -L package --output-on-failure --verbose </dev/null >"$log" 2>&1
  # "1/5 Test #2: package_static ...   Passed   12.3 sec" becomes the lines that count_lines counts.
  sed -n -E 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([a-z_]+) \.+ *Passed.*/ok \1/p
             s/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([a-z_]+) \.+ *\*+(.*)/FAIL \1: \2/p' "$log" >"$log.lines"
  count_lines "packaging" "$log.lines" 0
  grep -o '[0-9]* exported symbols.*' "$log"
  end
}

stage_clang() {
  begin "library with Clang: -fno-exceptions -fno-rtti -Wall -Wextra -Wpedantic -Werror"
  local folder=$root/build-clang
  step "configure" "$folder/tests-configure.log" configure "$folder" -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_BUILD_TYPE=Release -DHEED_WERROR=ON -DHEED_BUILD_TESTS=OFF -DHEED_BUILD_SAMPLES=OFF &&
    step "build" "$folder/tests-build.log" cmake --build "$folder" --parallel "$jobs"
  end
}

# The CPU device with its tests under both sanitizers, then the Vulkan side on one driver.
stage_sanitize() {
  begin "address and undefined behaviour sanitizers"
  local folder=$root/build-sanitize
  export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
  export LSAN_OPTIONS=suppressions=$root/tests/drivers/leaks.txt:print_suppressions=0
  # Sanitizers make GCC 12 warn of its own library; the other builds judge warnings.
  step "configure" "$folder/tests-configure.log" configure "$folder" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DHEED_WERROR=OFF \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DHEED_SANITIZE=address,undefined &&
    step "build" "$folder/tests-build.log" cmake --build "$folder" --parallel "$jobs" \
      --target heed_tests heed_program tour || { end; return; }
  run_catch "heed_tests without Vulkan, sanitized" "$folder/tests-none.log" \
    "$root/tests/drivers/with.sh" none "$folder/tests/heed_tests" "~[.]~[model]"
  run_lines "heed verify without Vulkan, sanitized" "$folder/tests-verify.log" \
    "$root/tests/drivers/with.sh" none "$folder/samples/heed/heed" verify --device cpu "$root/tests/goldens"
  run_lines "samples/tour/test.sh, sanitized" "$folder/tests-tour.log" \
    "$root/tests/drivers/with.sh" none "$root/samples/tour/test.sh" "$folder/samples/tour/tour" "$folder/tour-test"
  end
}

# Every golden file with every set of instructions that this processor has. heed_tests does the operations so.
stage_targets() {
  begin "goldens on every instruction set of the CPU"
  local heed=$build/samples/heed/heed with=("$root/tests/drivers/with.sh" none) sets set
  sets=$("${with[@]}" "$heed" devices | sed -n 's/.*instruction sets = //p')
  [[ -n $sets ]] || fail "heed devices names no instruction sets"
  for set in $sets; do
    run_lines "heed verify with $set" "$build/tests-verify-$set.log" \
      env HEED_CPU_TARGET="$set" "${with[@]}" "$heed" verify --device cpu "$root/tests/goldens"
  done
  end
}

# heed/glsl.hpp with Debian 13's libshaderc, where the system's does not link. Else heed_tests has these tests.
stage_glsl() {
  [[ " $(drivers) " == *" lavapipe-26 "* ]] || return
  if grep -q '^HEED_SHADERC_LINKS:INTERNAL=1' "$build/CMakeCache.txt"; then return; fi
  begin "passes from GLSL, by Debian 13's libshaderc"
  local log=$build/tests-glsl.log program code
  export HEED_DRIVER_FOLDER=$build/drivers
  program=$("$root/tests/glsl/debian_13.sh" "$build" "$build/glsl" 2>"$log" </dev/null)
  code=$?
  if [[ $code -eq 3 ]]; then
    tail -n 3 "$log"
    echo "SKIPPED: Debian 13's libraries are not to be had, so heed/glsl.hpp was not tested"
  elif [[ $code -ne 0 ]]; then
    tail -n 30 "$log"
    fail "tests/glsl/debian_13.sh (all of it: $log)"
  else
    run_catch "heed_glsl_tests on lavapipe-26" "$log" "$root/tests/drivers/with.sh" lavapipe-26 "$program"
  fi
  end
}

# Threads of the CPU device: its pool, a host's, and several plans at once.
stage_tsan() {
  begin "thread sanitizer, on the CPU device"
  local folder=$root/build-tsan
  step "configure" "$folder/tests-configure.log" configure "$folder" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DHEED_WERROR=OFF -DHEED_VULKAN=OFF -DHEED_BUILD_SAMPLES=OFF \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DHEED_SANITIZE=thread &&
    step "build" "$folder/tests-build.log" cmake --build "$folder" --parallel "$jobs" --target heed_cpu_tests ||
    { end; return; }
  run_catch "heed_cpu_tests, thread sanitizer" "$folder/tests.log" "$folder/tests/heed_cpu_tests" "[cpu]"
  end
}

# NEON and SVE, by an emulator: every golden file on each instruction set, at every length of vectors that it may have;
# all cases of the operations with NEON and with the longest vectors of SVE2, every third with its shorter ones; and the CPU
# device's own tests. Five minutes beside the build. The last line says what ran.
stage_aarch64() {
  begin "64-bit Arm, emulated"
  local folder=$root/build-aarch64 toolchain
  mkdir -p "$folder"
  if ! toolchain=$("$root/tests/drivers/aarch64.sh" "$folder/sysroot" 2>"$folder/sysroot.log"); then
    tail -n 3 "$folder/sysroot.log"
    echo "SKIPPED: no cross compiler, emulator or libraries, so nothing was checked on 64-bit Arm"
    end
    return
  fi
  step "configure" "$folder/tests-configure.log" configure "$folder" -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
    -DCMAKE_BUILD_TYPE=Release -DHEED_WERROR=ON -DHEED_VULKAN=OFF -DHEED_BUILD_TESTS=ON -DHEED_BUILD_SAMPLES=OFF &&
    step "build" "$folder/tests-build.log" cmake --build "$folder" --parallel "$jobs" --target heed_cpu_tests ||
    { end; return; }
  # BITS INSTRUCTION_SET FILTER [EVERY]: the tests on an emulated processor; no set: all that it has.
  emulated_tests() {
    qemu-aarch64 -cpu "max,sve-default-vector-length=$(($1 / 8))" -L /usr/aarch64-linux-gnu -E "HEED_CPU_TARGET=$2" \
      -E "HEED_TEST_EVERY=${4:-1}" -E "LD_LIBRARY_PATH=$folder/sysroot/root/usr/lib/aarch64-linux-gnu" "$folder/tests/heed_cpu_tests" "$3"
  }
  local bits set sets ran=()
  for bits in 128 256 512; do
    sets=$(emulated_tests $bits "" "[sets]" | sed -n 's/^instruction sets =//p')
    [[ -n $sets ]] || fail "the tests name no instruction sets at $bits bits"
    for set in $sets; do
      [[ $set == SVE* || $bits -eq 128 ]] || continue  # the others' vectors have one length
      run_catch "goldens with $set, vectors of $bits bits" "$folder/tests-$set-$bits.log" \
        emulated_tests $bits "$set" "goldens: pass on every device"
      ran+=("$set at $bits bits")
    done
  done
  run_catch "operations with NEON" "$folder/tests-ops-NEON.log" emulated_tests 128 NEON "[ops]"
  local every
  for bits in 512 256 128; do
    every=$((bits == 512 ? 1 : 3))
    run_catch "operations with SVE2, vectors of $bits bits" "$folder/tests-ops-SVE2-$bits.log" \
      emulated_tests $bits SVE2 "[ops]" $every
  done
  run_catch "the CPU device, vectors of 256 bits" "$folder/tests-cpu.log" emulated_tests 256 "" "[cpu]"
  printf 'emulated, goldens: %s; operations: NEON, SVE2 at 128, 256, 512 bits\n' "$(IFS=,; echo "${ran[*]}" | sed 's/,/, /g')"
  end
}

# Windows, as far as MinGW and Wine show it: all that does not need a GPU, and goldens on lavapipe behind Wine's Vulkan.
stage_windows() {
  begin "Windows, by MinGW and Wine"
  local folder=$root/build-windows toolchain
  mkdir -p "$folder"
  if ! "$root/tests/drivers/install.sh" windows >"$folder/sysroot.log" 2>&1 ||
    ! toolchain=$("$root/tests/drivers/windows.sh" "$folder/sysroot" 2>>"$folder/sysroot.log"); then
    tail -n 3 "$folder/sysroot.log"
    echo "SKIPPED: no cross compiler, Wine or libraries, so nothing was checked on Windows"
    end
    return
  fi
  step "configure" "$folder/tests-configure.log" configure "$folder" -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
    -DCMAKE_BUILD_TYPE=Release -DHEED_WERROR=ON -DHEED_BUILD_TESTS=ON -DHEED_BUILD_SAMPLES=ON &&
    step "build" "$folder/tests-build.log" cmake --build "$folder" --parallel "$jobs" --target heed_cpu_tests heed_program ||
    { end; return; }
  under_wine() { env WINEPREFIX="$folder/wine-$1" WINEDEBUG=-all "${@:2}" | tr -d '\r'; }
  run_catch "heed_cpu_tests under Wine" "$folder/tests.log" under_wine text wine "$folder/tests/heed_cpu_tests.exe" "~[.]"
  # Wine's Vulkan wants a display from the start; a path that begins with a slash would be an option on Windows.
  run_lines "heed verify under Wine" "$folder/tests-verify.log" under_wine window xvfb-run -a "$root/tests/drivers/with.sh" lavapipe \
    wine "$folder/samples/heed/heed.exe" verify --device all tests/goldens
  check_coverage lavapipe "$folder/tests-verify.log"
  end
}

# --- All of it -------------------------------------------------------------------------------------------------

begin "packages"
step "tests/drivers/install.sh tests" "$build/tests-install.log" "$root/tests/drivers/install.sh" tests || finish
end

if wants shaders; then stage_shaders; fi
if wants build; then stage_build || finish; fi
if wants drivers; then for driver in $(drivers); do stage_driver "$driver"; done; fi
if wants interpreter; then stage_interpreter; fi
if wants bounds; then stage_bounds; fi
if wants memcheck; then stage_memcheck; fi
if wants random; then stage_random; fi
if wants targets; then stage_targets; fi
if wants glsl; then stage_glsl; fi
if wants compilers; then stage_compilers; fi
if wants capture; then stage_capture; fi
if wants tour; then stage_tour; fi
if wants search; then stage_search; fi
if wants swarm; then stage_swarm; fi
if wants headers; then stage_headers; fi
if wants packaging; then stage_packaging; fi
if wants clang; then stage_clang; fi
if wants sanitize; then stage_sanitize; fi
if wants tsan; then stage_tsan; fi
if wants aarch64; then stage_aarch64; fi
if wants windows; then stage_windows; fi
finish
