# heed_c_library: a shared libheed that contains all of heed and exports only the C interface. Releases and the wheel for Python hold it, since
# what it exports does not depend on a C++ library.
#   HEED_C_LIBRARY   `cmake --install --component c` then installs it with its headers and a file for pkg-config
add_library(heed_c_library SHARED)
foreach(layer IN LISTS HEED_LAYERS)
  target_sources(heed_c_library PRIVATE $<TARGET_OBJECTS:heed_${layer}>)
endforeach()
target_link_libraries(heed_c_library PRIVATE ${HEED_LINKED} Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(heed_c_library PROPERTIES OUTPUT_NAME heed LINKER_LANGUAGE CXX BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN"
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/c RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/c
  ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/c)
if(WIN32)
  # A file that lists the functions exports these alone. The headers put each declaration's name on its first line.
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/heed/c/*.h)
  set(exports "EXPORTS\n")
  foreach(header IN LISTS headers)
    file(STRINGS ${header} declarations REGEX "^HEED_API .*heed_[a-z0-9_]+\\(")
    foreach(declaration IN LISTS declarations)
      string(REGEX REPLACE "^.*[ *](heed_[a-z0-9_]+)\\(.*" "  \\1\n" function "${declaration}")
      string(APPEND exports "${function}")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/c/heed.def CONTENT "${exports}" @ONLY)
  target_sources(heed_c_library PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/c/heed.def)
  set_target_properties(heed_c_library PROPERTIES PREFIX "" IMPORT_PREFIX "" IMPORT_SUFFIX .lib)
elseif(NOT APPLE)
  set(exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)
  # A C++ library that is linked in may end a thread's variables after dlclose, so that the code has to stay.
  target_link_options(heed_c_library PRIVATE LINKER:--no-undefined LINKER:--gc-sections LINKER:--version-script=${exports} LINKER:-z,nodelete -s)
  set_target_properties(heed_c_library PROPERTIES LINK_DEPENDS ${exports} VERSION ${PROJECT_VERSION}
                                                  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()

if(HEED_C_LIBRARY)
  install(TARGETS heed_c_library COMPONENT c LIBRARY DESTINATION lib RUNTIME DESTINATION bin ARCHIVE DESTINATION lib)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/heed/c DESTINATION include/heed COMPONENT c FILES_MATCHING PATTERN "*.h")
  install(FILES ${PROJECT_SOURCE_DIR}/include/heed/export.hpp DESTINATION include/heed COMPONENT c)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/heed.pc.in ${CMAKE_CURRENT_BINARY_DIR}/c/heed.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/c/heed.pc DESTINATION lib/pkgconfig COMPONENT c)
endif()
