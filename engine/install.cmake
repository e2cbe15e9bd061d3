# cmake --install copies the library, its headers and the files that find_package(heed) reads. None of them contains the path of the build
# or of the installation.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/heed)
install(TARGETS heed heed_include EXPORT heed
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/heed DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(EXPORT heed NAMESPACE heed:: FILE heed-targets.cmake DESTINATION ${package})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/heed-config.cmake.in ${PROJECT_BINARY_DIR}/heed-config.cmake
  INSTALL_DESTINATION ${package})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heed-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heed-config.cmake ${PROJECT_BINARY_DIR}/heed-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake
  DESTINATION ${package})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/licenses/heed)

# The licences of bundled libraries are installed, too. Debian and vcpkg store them in these folders.
if(HEED_BUNDLE)
  set(parts libhwy-dev:highway nlohmann-json3-dev:nlohmann-json libprotozero-dev:protozero libutf8proc-dev:utf8proc
            zlib1g-dev:zlib)
  foreach(part IN LISTS parts)
    string(REPLACE ":" ";" names ${part})
    list(GET names 0 debian)
    list(GET names 1 name)
    if((name STREQUAL "highway" AND NOT HEED_CPU) OR (name STREQUAL "utf8proc" AND NOT HEED_TEXT)
       OR (name STREQUAL "zlib" AND NOT HEED_VULKAN) OR (name STREQUAL "protozero" AND NOT HEED_ONNX))
      continue()
    endif()
    find_file(HEED_LICENCE_${name} copyright PATHS /usr/share PATH_SUFFIXES doc/${debian} share/doc/${debian} share/${name})
    if(HEED_LICENCE_${name})
      install(FILES ${HEED_LICENCE_${name}} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/licenses/heed RENAME ${name})
    else()
      message(WARNING "the licence of ${name} was not found: add it to what you ship")
    endif()
  endforeach()
endif()
