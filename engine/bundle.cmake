# One library that needs nothing beside the C and C++ libraries: what heed links comes as archives. Read before dependencies.cmake.
#   HEED_BUNDLE   heed::utf8proc must be an archive. Its objects become a part of a static heed, and a shared one links it
#   HEED_PYTHON   the wheel takes archives where the system has them
# CMake's packages of these libraries name shared ones.
set(CMAKE_DISABLE_FIND_PACKAGE_utf8proc ON)
set(CMAKE_DISABLE_FIND_PACKAGE_unofficial-utf8proc ON)
if(HEED_BUNDLE AND HEED_TEXT)
  find_library(HEED_UTF8PROC_ARCHIVE NAMES ${CMAKE_STATIC_LIBRARY_PREFIX}utf8proc${CMAKE_STATIC_LIBRARY_SUFFIX}
                                           ${CMAKE_STATIC_LIBRARY_PREFIX}utf8proc_static${CMAKE_STATIC_LIBRARY_SUFFIX})
  if(NOT HEED_UTF8PROC_ARCHIVE)
    message(FATAL_ERROR "HEED_BUNDLE=ON needs utf8proc as an archive: set HEED_UTF8PROC_ARCHIVE to its file, or HEED_TEXT=OFF")
  endif()
  set(HEED_UTF8PROC_LIBRARY ${HEED_UTF8PROC_ARCHIVE} CACHE FILEPATH "utf8proc" FORCE)
elseif(HEED_PYTHON AND UNIX)
  list(PREPEND CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()

# heed_take_archive(TARGET FILE): the objects of an archive become objects of a static library.
function(heed_take_archive target file)
  if(MSVC)
    set_property(TARGET ${target} APPEND PROPERTY STATIC_LIBRARY_OPTIONS ${file})  # lib.exe merges archives by itself
    return()
  endif()
  get_filename_component(name ${file} NAME_WE)
  set(folder ${PROJECT_BINARY_DIR}/bundle/${name})
  file(REMOVE_RECURSE ${folder})
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${CMAKE_AR} x ${file} WORKING_DIRECTORY ${folder} RESULT_VARIABLE code ERROR_VARIABLE text)
  file(GLOB objects ${folder}/*.o ${folder}/*.obj)
  if(NOT code EQUAL 0 OR NOT objects)
    message(FATAL_ERROR "${CMAKE_AR} takes no objects out of ${file}: ${text}")
  endif()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE)
  target_sources(${target} PRIVATE ${objects})
endfunction()
