# A compiler cache, precompiled headers, files that are compiled together, and less optimization where nobody waits for the
# result make builds short. tests/build_time.sh measures them.

option(HEED_CCACHE "Compile through ccache where that is installed" ${PROJECT_IS_TOP_LEVEL})
option(HEED_UNITY "Compile files together" ON)
option(HEED_PRECOMPILE "Precompile the headers that most files include (GCC, Clang)" ${PROJECT_IS_TOP_LEVEL})

if(HEED_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(HEED_CCACHE_PROGRAM ccache)
  if(HEED_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${HEED_CCACHE_PROGRAM})
  endif()
endif()
set(HEED_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
# ccache takes a file with a precompiled header only when it is told that macros and times in that header do not matter.
if(HEED_PRECOMPILE AND CMAKE_HOST_UNIX AND CMAKE_CXX_COMPILER_LAUNCHER MATCHES "(^|[/;])ccache$"
   AND NOT DEFINED ENV{CCACHE_SLOPPINESS})
  list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros)
endif()

# GCC for 64-bit Arm crashes where arm_sve.h comes behind a precompiled header.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(HEED_PRECOMPILE OFF)
endif()

# GCC searches its memory again and again for what it no longer needs, which takes a tenth of its time. Where it does not, the
# largest groups of files still take less than 1 GB.
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(--param=ggc-min-heapsize=1000000)
endif()

# heed_precompile(TARGET HEADER...) or heed_precompile(TARGET REUSE_FROM TARGET). Every file still includes what it uses:
# some tests build with HEED_PRECOMPILE=OFF.
function(heed_precompile target)
  if(NOT HEED_PRECOMPILE OR MSVC OR NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    return()
  endif()
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
  # Both are what ccache asks for.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  else()
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

# heed_unity(TARGET): some 32 files, of one folder or of neighbours, are compiled together, since what they include takes
# most of their time. Groups have about the same size, so that no processor waits for the last one. Files with options of their
# own stay alone.
function(heed_unity target)
  if(NOT HEED_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  math(EXPR groups "(${count} + 31) / 32")
  set(bytes 0)
  set(sizes "")
  foreach(source IN LISTS sources)
    file(SIZE ${source} size)
    list(APPEND sizes ${size})
    math(EXPR bytes "${bytes} + ${size}")
  endforeach()
  set(done 0)
  foreach(source size IN ZIP_LISTS sources sizes)
    math(EXPR group "(${done} + ${size} / 2) * ${groups} / ${bytes}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${group})
    math(EXPR done "${done} + ${size}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # Object files of Windows have room for the sections of this many functions only when they are told so.
  if(MSVC)
    target_compile_options(${target} PRIVATE /bigobj)
  elseif(MINGW)
    target_compile_options(${target} PRIVATE -Wa,-mbig-obj)
  endif()
endfunction()

# Most files of the library spend two thirds of their time to compile on these.
set(HEED_STANDARD_HEADERS <algorithm> <array> <cmath> <cstdint> <cstdio> <cstring> <limits> <memory> <optional> <span>
                          <string> <string_view> <utility> <vector>)

# For tests, programs and layers that are LIGHT (layers.cmake), which are compiled more often than they run for long; what
# computes or records is optimized as the build type says. Files that compute much take HEED_OPTIMIZED as an option of their own,
# and those that run once for milliseconds, as what reads the command line, take HEED_UNOPTIMIZED. Builds with sanitizers say for
# themselves how they are optimized.
add_library(heed_light INTERFACE)
set(HEED_OPTIMIZED "")
set(HEED_UNOPTIMIZED "")
if(NOT MSVC AND NOT HEED_SANITIZE)
  target_compile_options(heed_light INTERFACE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
endif()
if(NOT MSVC)
  set(HEED_OPTIMIZED $<$<CONFIG:Release,RelWithDebInfo>:-O3>)
  if(NOT MINGW)  # its object files have no room for the sections of all functions that are not inlined
    set(HEED_UNOPTIMIZED $<$<CONFIG:Release,RelWithDebInfo>:-O0>)
  endif()
endif()
