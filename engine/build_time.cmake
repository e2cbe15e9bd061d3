# Shortens builds by a compiler cache and one list of precompiled headers. tests/build_time.sh measures the effect.

option(HEED_CCACHE "Compile through ccache where that is installed" ${PROJECT_IS_TOP_LEVEL})
option(HEED_PRECOMPILE "Precompile the headers that most files include (GCC, Clang)" ${PROJECT_IS_TOP_LEVEL})

if(HEED_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(HEED_CCACHE_PROGRAM ccache)
  if(HEED_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${HEED_CCACHE_PROGRAM})
  endif()
endif()
set(HEED_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
# ccache caches a file that uses a precompiled header only if its settings say that macros and times in that header do not matter.
if(HEED_PRECOMPILE AND CMAKE_HOST_UNIX AND CMAKE_CXX_COMPILER_LAUNCHER MATCHES "(^|[/;])ccache$"
   AND NOT DEFINED ENV{CCACHE_SLOPPINESS})
  list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros)
endif()

# GCC for 64-bit Arm crashes if arm_sve.h is included after a precompiled header.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(HEED_PRECOMPILE OFF)
endif()

# Most files of the library spend two thirds of their compile time on these headers.
set(HEED_PRECOMPILED_HEADERS <algorithm> <array> <cmath> <cstdint> <cstdio> <cstring> <limits> <memory> <optional> <span>
                             <string> <string_view> <utility> <vector> <heed/device.hpp> <heed/plan.hpp>)

# heed_precompile(TARGET HEADER...) or heed_precompile(TARGET REUSE_FROM TARGET). Every file still includes all headers that it uses: some
# checks of tests/run.sh build with HEED_PRECOMPILE=OFF.
function(heed_precompile target)
  if(NOT HEED_PRECOMPILE OR MSVC OR NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    return()
  endif()
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
  # ccache requires both options.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  else()
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()
