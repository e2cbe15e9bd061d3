# Tests one way to use heed in a program, from start to end: cmake -DHOW=... -P check.cmake
#   HOW      static        install, move the folder, find_package
#            shared        the same with a shared library; also checks its exported symbols and its size
#            fetch         FetchContent, which calls add_subdirectory, with a shared library
#   SOURCE   heed's source folder
#   BUILD    heed's build folder; for HOW=shared and fetch, empty if its objects cannot be reused
#   WORK     a folder for the results; emptied first
#   COMPILER, GENERATOR, LAUNCHER   as heed was built
cmake_minimum_required(VERSION 3.21)
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

# The most bytes that a game would ship, with the kernels of all instruction sets, and the most that importing ONNX models may add;
# HOW=shared prints both.
set(most_bytes 5500000)
set(most_bytes_of_onnx 350000)

# check_size(LIBRARY MOST WHAT)
function(check_size library most what)
  stripped_bytes(bytes ${library})
  message(STATUS "${what}: ${bytes} bytes stripped of at most ${most}")
  if(bytes GREATER most)
    message(FATAL_ERROR "the stripped library is too large")
  endif()
endfunction()

# Every exported function must be heed's own and marked for export, and the exported C functions must be the committed ones.
function(check_exports)
  file(STRINGS ${SOURCE}/tests/c/functions.inc c_functions REGEX "^HEED_C")
  list(TRANSFORM c_functions REPLACE "HEED_C\\((.*)\\)" "\\1")
  set(c_exported "")
  find_library_file(library libheed.so.*.*.*)
  find_program(NM nm)
  if(NOT NM)
    message(STATUS "nm was not found: exports unchecked")
    return()
  endif()
  run(${NM} -DC --defined-only ${library})
  string(REGEX REPLACE "\n" ";" lines "${run_output}")
  set(count 0)
  foreach(line IN LISTS lines)
    if(line MATCHES "^[0-9a-f]+ [A-Za-z] (.*)")
      set(symbol "${CMAKE_MATCH_1}")
      if(symbol MATCHES "^heed_")
        list(APPEND c_exported ${symbol})
      elseif(NOT symbol MATCHES "^(typeinfo( name)? for |vtable for |void |bool )?heed::" OR
         symbol MATCHES "heed::(cpu|detail)::|anonymous|DeviceImpl|PlanImpl::")
        message(FATAL_ERROR "exported, and should not be: ${symbol}")
      endif()
      math(EXPR count "${count} + 1")
    endif()
  endforeach()
  list(SORT c_exported)
  if(NOT c_exported STREQUAL c_functions)
    message(FATAL_ERROR "of the C interface are exported: ${c_exported}")
  endif()
  if(count LESS 50)
    message(FATAL_ERROR "only ${count} functions are exported")
  endif()
  # DeviceOptions has what a host may choose; a variable in a player's environment must not affect heed.
  run(${NM} -D --undefined-only ${library})
  if(run_output MATCHES " (secure_)?getenv")
    message(FATAL_ERROR "the library reads the environment")
  endif()
  math(EXPR most "${most_bytes} + ${most_bytes_of_onnx}")
  check_size(${library} ${most} "${count} exported symbols")
endfunction()

if(HOW STREQUAL "static")
  move_installed(${BUILD})
  check_consumer(-DHEED_FROM=package -DCMAKE_PREFIX_PATH=${WORK}/moved)
elseif(HOW STREQUAL "shared")
  build_library(-DBUILD_SHARED_LIBS=ON)
  move_installed(${WORK}/build)
  check_consumer(-DHEED_FROM=package -DCMAKE_PREFIX_PATH=${WORK}/moved)
  if(UNIX AND NOT APPLE)
    check_exports()
    build_library(-DBUILD_SHARED_LIBS=ON -DHEED_ONNX=OFF)
    file(GLOB plain ${WORK}/build/libheed.so.*.*.*)
    check_size(${plain} ${most_bytes} "without ONNX")
  endif()
elseif(HOW STREQUAL "fetch")
  # An archive of the sources, like a download.
  run(${CMAKE_COMMAND} -E chdir ${SOURCE} ${CMAKE_COMMAND} -E tar czf ${WORK}/heed.tar.gz
      CMakeLists.txt LICENSE engine include shaders)
  check_consumer(-DHEED_FROM=fetch -DHEED_SOURCE=${WORK}/heed.tar.gz -DBUILD_SHARED_LIBS=ON -DHEED_OBJECTS_OF=${BUILD})
else()
  message(FATAL_ERROR "HOW is '${HOW}'")
endif()
