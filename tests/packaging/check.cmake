# One way of getting heed into a program, from start to end: cmake -DHOW=... -P check.cmake
#   HOW      static        install, move the folder, find_package
#            shared        the same with a shared library; its exported symbols are checked
#            fetch         FetchContent, which ends in add_subdirectory, with a shared library; warnings are errors, and each file
#                          is compiled alone, which finds those that do not include what they use
#   SOURCE   heed's source folder
#   BUILD    heed's build folder, for HOW=static
#   WORK     a folder for what is made here; emptied first
#   COMPILER, GENERATOR, LAUNCHER   as heed was built
#   CLANG    for HOW=fetch: clang++, if there is one
cmake_minimum_required(VERSION 3.21)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}\n${text}")
  endif()
  set(run_output "${text}" PARENT_SCOPE)
endfunction()

if(HOW STREQUAL "fetch" AND CLANG)
  set(COMPILER ${CLANG})
endif()
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER})
if(LAUNCHER)
  list(APPEND configure -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
endif()
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

# Builds the consumer against heed and runs it. Without optimization where that includes heed: it takes half the time.
function(check_consumer)
  run(${configure} -S ${SOURCE}/tests/packaging/consumer -B ${WORK}/consumer -DCMAKE_BUILD_TYPE=Debug ${ARGN})
  run(${CMAKE_COMMAND} --build ${WORK}/consumer)
  # The variables that act on tests do nothing to a shipped program; check_exports shows that none does.
  run(${CMAKE_COMMAND} -E env HEED_CPU_TARGET=scalar HEED_VULKAN_LOADER=/nonexistent HEED_KERNELS=basic
      HEED_MATRIX_UNITS=never ${WORK}/consumer/consumer)
  if(NOT run_output MATCHES "heed works here")
    message(FATAL_ERROR "the consumer printed: ${run_output}")
  endif()
endfunction()

# An installed heed must work wherever its folder is moved.
function(check_installed build)
  run(${CMAKE_COMMAND} --install ${build} --prefix ${WORK}/installed)
  file(RENAME ${WORK}/installed ${WORK}/moved)
  file(GLOB_RECURSE files ${WORK}/moved/*.cmake)
  foreach(file IN LISTS files)
    file(READ ${file} text)
    foreach(place IN ITEMS ${WORK} ${SOURCE} ${build})
      string(FIND "${text}" "${place}" at)
      if(NOT at EQUAL -1)
        message(FATAL_ERROR "${file} names ${place}")
      endif()
    endforeach()
  endforeach()
  check_consumer(-DHEED_FROM=package -DCMAKE_PREFIX_PATH=${WORK}/moved)
endfunction()

# Every exported function must be heed's own and marked for export, and those of the C interface are the committed ones.
function(check_exports)
  file(STRINGS ${SOURCE}/tests/c/symbols.txt c_functions)
  set(c_exported "")
  file(GLOB_RECURSE libraries ${WORK}/moved/libheed.so.*.*.*)
  list(GET libraries 0 library)
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
  # What a host may want to choose is in DeviceOptions; a variable of its player's environment must not reach heed.
  run(${NM} -D --undefined-only ${library})
  if(run_output MATCHES " (secure_)?getenv")
    message(FATAL_ERROR "the library reads the environment")
  endif()
  find_program(STRIP strip)
  set(stripped ${WORK}/stripped.so)
  if(STRIP)
    run(${STRIP} -o ${stripped} ${library})
    file(SIZE ${stripped} bytes)
    message(STATUS "${count} exported symbols, ${bytes} bytes stripped")
  else()
    message(STATUS "${count} exported symbols; strip was not found: size unknown")
  endif()
endfunction()

if(HOW STREQUAL "static")
  check_installed(${BUILD})
elseif(HOW STREQUAL "shared")
  run(${configure} -S ${SOURCE} -B ${WORK}/build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON
      -DHEED_BUILD_TESTS=OFF -DHEED_BUILD_SAMPLES=OFF -DHEED_BUILD_BENCH=OFF)
  run(${CMAKE_COMMAND} --build ${WORK}/build)
  check_installed(${WORK}/build)
  if(UNIX AND NOT APPLE)
    check_exports()
  endif()
elseif(HOW STREQUAL "fetch")
  # An archive of the sources, as a download would be.
  run(${CMAKE_COMMAND} -E chdir ${SOURCE} ${CMAKE_COMMAND} -E tar czf ${WORK}/heed.tar.gz
      CMakeLists.txt LICENSE engine include shaders)
  check_consumer(-DHEED_FROM=fetch -DHEED_SOURCE=${WORK}/heed.tar.gz -DBUILD_SHARED_LIBS=ON -DHEED_WERROR=ON -DHEED_UNITY=OFF)
else()
  message(FATAL_ERROR "HOW is '${HOW}'")
endif()
