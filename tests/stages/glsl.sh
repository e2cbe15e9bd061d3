# heed/glsl.hpp with Debian 13's libshaderc, where the system's does not link. Elsewhere heed_tests has these tests.
about="passes from GLSL, by libshaderc"
needs="build"
stage() {
  if grep -q '^HEED_SHADERC_LINKS:INTERNAL=1' "$build/CMakeCache.txt"; then
    check_catch "heed_tests [glsl] on lavapipe" "$with" lavapipe "$tests" "[glsl]"
    return
  fi
  run_logged "tests/glsl/debian_13.sh" "$root/tests/glsl/debian_13.sh" "$build" "$build/glsl"
  case $? in
    0) check_catch "heed_glsl_tests on lavapipe-26" "$with" lavapipe-26 "$(tail -n 1 "$log")" ;;
    3) skip "Debian 13's libraries cannot be had, so heed/glsl.hpp was not tested: $(tail -n 1 "$log")" ;;
    *) tail -n 30 "$log"; fail "tests/glsl/debian_13.sh (all of it: $log)" ;;
  esac
}
