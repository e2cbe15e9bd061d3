# Functions that declare tests. tests/README.md defines the labels.
set(tests ${CMAKE_CURRENT_SOURCE_DIR})
set(samples ${PROJECT_SOURCE_DIR}/samples)
set(with ${tests}/drivers/with.sh)
set(programs ${PROJECT_BINARY_DIR}/samples)

# heed_test(NAME ... COMMAND ...): a command that runs in the repository's root. Its exit code is the result: 0 passed, 3 skipped, because
# something that it needs is not available here.
#   LABELS LABEL...     quick: tests/run.sh runs it; all: tests/run.sh --all does; slow: neither does; and the label of its subject
#   COST SECONDS        processor time; the longest tests start first
#   COUNTED             counted.sh runs the command, and fails it if it checked nothing
#   MAKES FIXTURE...    the fixtures that it sets up for other tests
#   NEEDS FIXTURE...    the fixtures that it needs
#   AFTER TEST...       if these tests run, too, they run first
#   IF FILE...          the test is skipped if one of these files is missing
#   ALONE_WITH NAME...  resources that one test at a time may use
#   SET VARIABLE=VALUE...       its environment
#   DEFAULTS VARIABLE=VALUE...  the same, unless the caller's environment has the variable
#   FAILS REGEX...      output that no passing test prints
function(heed_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "COUNTED" "COST" "LABELS;MAKES;NEEDS;AFTER;IF;ALONE_WITH;SET;DEFAULTS;FAILS;COMMAND")
  if(test_UNPARSED_ARGUMENTS OR NOT test_COMMAND OR NOT test_LABELS)
    message(FATAL_ERROR "heed_test(${name}): ${test_UNPARSED_ARGUMENTS}")
  endif()
  foreach(file IN LISTS test_IF)
    list(PREPEND test_COMMAND ${tests}/harness/if_there.sh ${file})
  endforeach()
  if(test_COUNTED)
    list(PREPEND test_COMMAND ${tests}/harness/counted.sh)
  endif()
  if(test_DEFAULTS)
    set(script "")
    foreach(setting IN LISTS test_DEFAULTS)
      string(REGEX REPLACE "^([A-Z_]+)=(.*)" "export \\1=\"\${\\1:-\\2}\" && " line "${setting}")
      string(APPEND script "${line}")
    endforeach()
    list(PREPEND test_COMMAND sh -c "${script}exec \"$@\"" -)
  endif()
  add_test(NAME ${name} COMMAND ${test_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES
    LABELS "${test_LABELS}" COST "${test_COST}" TIMEOUT 3600 SKIP_RETURN_CODE 3 ENVIRONMENT "${test_SET}"
    FIXTURES_SETUP "${test_MAKES}" FIXTURES_REQUIRED "${test_NEEDS}" RESOURCE_LOCK "${test_ALONE_WITH}"
    DEPENDS "${test_AFTER}"
    FAIL_REGULAR_EXPRESSION "${test_FAILS}")
endfunction()

# heed_catch_test(NAME DRIVER FILTER ...): runs heed_tests, or PROGRAM, on a driver of drivers/with.sh with a Catch2 filter, "" for none.
# Other arguments are those of heed_test.
function(heed_catch_test name driver filter)
  cmake_parse_arguments(PARSE_ARGV 3 test "" "COST;PROGRAM" "LABELS;NEEDS;IF;SET;DEFAULTS;RUN_BY")
  if(NOT test_PROGRAM)
    set(test_PROGRAM $<TARGET_FILE:heed_tests>)
  endif()
  if(driver MATCHES "lavapipe|swiftshader")
    list(APPEND test_LABELS driver)
    string(REGEX REPLACE "^lavapipe(-(128|256|512))?$" "lavapipe" fixture ${driver})
    list(APPEND test_NEEDS driver.${fixture})
    # Tests print this if they find no device and test nothing.
    set(test_FAILS "no Vulkan device here" "no Vulkan device, so")
  endif()
  # Some tests write files with fixed names, and two tests may run at once.
  set(folder ${PROJECT_BINARY_DIR}/Testing/files/${name})
  file(MAKE_DIRECTORY ${folder})
  heed_test(${name} COUNTED LABELS ${test_LABELS} COST "${test_COST}" NEEDS ${test_NEEDS} IF ${test_IF}
    SET TMPDIR=${folder} ${test_SET} DEFAULTS ${test_DEFAULTS} FAILS ${test_FAILS}
    COMMAND ${with} ${driver} ${test_RUN_BY} ${test_PROGRAM} ${filter} --durations yes)
endfunction()

# heed_build(NAME FOLDER TARGETS TARGET... [OPTIONS OPTION...] ...): builds heed with other options, and sets up the fixture NAME.build.
function(heed_build name folder)
  cmake_parse_arguments(PARSE_ARGV 2 build "" "COST" "TARGETS;OPTIONS;IF;NEEDS;LABELS")
  heed_test(${name}.configure LABELS ${build_LABELS} MAKES ${name}.configured NEEDS ${build_NEEDS} IF ${build_IF}
    COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B ${folder} -G Ninja ${build_OPTIONS})
  heed_test(${name}.build LABELS ${build_LABELS} COST "${build_COST}" MAKES ${name}.build NEEDS ${name}.configured IF ${build_IF}
    COMMAND ${CMAKE_COMMAND} --build ${folder} --target ${build_TARGETS})
endfunction()
