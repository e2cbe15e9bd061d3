# Functions for the checks of packaging. SOURCE, WORK, COMPILER, GENERATOR, LAUNCHER are as in check.cmake.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}\n${text}")
  endif()
  set(run_output "${text}" PARENT_SCOPE)
endfunction()

set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER})
if(LAUNCHER)
  list(APPEND configure -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
endif()

# Builds the library with these options in WORK/build. Layers that no option changes reuse the objects of BUILD, if it is given, so that a
# variant of the library costs only its link.
function(build_library)
  run(${configure} -S ${SOURCE} -B ${WORK}/build -DCMAKE_BUILD_TYPE=Release -DHEED_OBJECTS_OF=${BUILD} -DHEED_BUILD_TESTS=OFF
      -DHEED_BUILD_SAMPLES=OFF -DHEED_BUILD_BENCH=OFF ${ARGN})
  run(${CMAKE_COMMAND} --build ${WORK}/build)
endfunction()

# Builds the consumer against heed and runs it.
function(check_consumer)
  run(${configure} -S ${SOURCE}/tests/packaging/consumer -B ${WORK}/consumer -DCMAKE_BUILD_TYPE=Debug ${ARGN})
  run(${CMAKE_COMMAND} --build ${WORK}/consumer)
  # The tests' variables have no effect on a shipped program; check_exports checks this.
  run(${CMAKE_COMMAND} -E env HEED_CPU_TARGET=scalar HEED_VULKAN_LOADER=/nonexistent HEED_SUBGROUPS=never
      HEED_MATRIX_UNITS=never ${WORK}/consumer/consumer)
  if(NOT run_output MATCHES "heed works here")
    message(FATAL_ERROR "the consumer printed: ${run_output}")
  endif()
endfunction()

# An installed heed must work after its folder is moved: from here on it is in WORK/moved.
function(move_installed build)
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
endfunction()

# find_library_file(VARIABLE PATTERN): the one file of WORK/moved.
function(find_library_file variable pattern)
  file(GLOB_RECURSE libraries ${WORK}/moved/${pattern})
  list(LENGTH libraries count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "${WORK}/moved has ${count} files ${pattern}")
  endif()
  set(${variable} ${libraries} PARENT_SCOPE)
endfunction()

# stripped_bytes(VARIABLE FILE): the size of a library without symbols; "unknown" if there is no strip.
function(stripped_bytes variable file)
  find_program(STRIP strip)
  set(bytes unknown)
  if(STRIP)
    run(${STRIP} -o ${WORK}/stripped ${file})
    file(SIZE ${WORK}/stripped bytes)
  endif()
  set(${variable} ${bytes} PARENT_SCOPE)
endfunction()
