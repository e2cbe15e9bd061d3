# Finds the headers of Google Highway as heed::highway: vector code for every instruction set from one source. Its library, which Debian
# offers only as a shared one, is not needed: engine/cpu/device/supported.cpp detects the instruction sets of the processor, and Highway's
# debug checks, which end the process, are off.
if(NOT TARGET heed::highway)
  add_library(heed::highway INTERFACE IMPORTED GLOBAL)
  target_compile_definitions(heed::highway INTERFACE HWY_IS_DEBUG_BUILD=0)
  if(NOT TARGET hwy::hwy)
    find_package(hwy CONFIG QUIET)
  endif()
  if(TARGET hwy::hwy)
    target_include_directories(heed::highway INTERFACE $<TARGET_PROPERTY:hwy::hwy,INTERFACE_INCLUDE_DIRECTORIES>)
  else()
    find_path(HEED_HIGHWAY_INCLUDE hwy/highway.h REQUIRED)
    target_include_directories(heed::highway INTERFACE ${HEED_HIGHWAY_INCLUDE})
  endif()
endif()
