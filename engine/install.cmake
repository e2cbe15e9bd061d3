# cmake --install: the library, its headers, and what find_package(heed) reads. Nothing of it names the folder it was
# built or installed in.
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
# Before 1.0 a minor version may change what callers see.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heed-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heed-config.cmake ${PROJECT_BINARY_DIR}/heed-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake
  DESTINATION ${package})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/licenses/heed)
