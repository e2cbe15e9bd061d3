# Finds installed files that name the build's folders, exported symbols that are not heed's, and code that runs before
# main.
about="find_package static and shared, FetchContent; nothing runs outside of main"
needs="build"
stage() {
  run_logged "ctest -L package" ctest --test-dir "$build" -L package --output-on-failure --verbose
  # "1/5 Test #2: package_static ...   Passed   12.3 sec" becomes the lines that count_lines counts.
  sed -n -E 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([a-z_]+) \.+ *Passed.*/ok \1/p
             s/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([a-z_]+) \.+ *\*+(.*)/FAIL \1: \2/p' "$log" >"$log.lines"
  count_lines "packaging" "$log.lines" 0
  grep -o '[0-9]* exported symbols.*' "$log"
}
