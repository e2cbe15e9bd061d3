# Libraries that heed links become a part of the wheel's libheed.so where the system has them as archives, so that the wheel needs
# them nowhere. Their packages for CMake name shared ones. Read before engine/dependencies.cmake.
set(CMAKE_DISABLE_FIND_PACKAGE_hwy ON)
set(CMAKE_DISABLE_FIND_PACKAGE_utf8proc ON)
set(CMAKE_DISABLE_FIND_PACKAGE_unofficial-utf8proc ON)
if(UNIX)
  list(PREPEND CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()
