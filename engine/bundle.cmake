# Included before dependencies.cmake if heed shall need no library except those of C and C++: utf8proc and zlib are then linked as archives.
#   HEED_BUNDLE   utf8proc and zlib must be archives. Their objects become part of a static heed; a shared heed links them
#   HEED_PYTHON   the wheel links archives if the system has them
# CMake's packages for these libraries refer to shared ones, so they are disabled.
set(CMAKE_DISABLE_FIND_PACKAGE_utf8proc ON)
set(CMAKE_DISABLE_FIND_PACKAGE_unofficial-utf8proc ON)

# heed_find_archive(OPTION LIBRARY VARIABLE NAME...): if the build has OPTION, sets VARIABLE to the path of the archive of LIBRARY, which
# has one of the names.
function(heed_find_archive option library variable)
  if(NOT HEED_BUNDLE OR NOT ${option})
    return()
  endif()
  list(TRANSFORM ARGN REPLACE "(.+)" "${CMAKE_STATIC_LIBRARY_PREFIX}\\1${CMAKE_STATIC_LIBRARY_SUFFIX}" OUTPUT_VARIABLE files)
  find_library(HEED_${library}_ARCHIVE NAMES ${files})
  if(NOT HEED_${library}_ARCHIVE)
    message(FATAL_ERROR "HEED_BUNDLE=ON needs an archive: set HEED_${library}_ARCHIVE to its file, or ${option}=OFF")
  endif()
  set(${variable} ${HEED_${library}_ARCHIVE} CACHE FILEPATH "of the bundle" FORCE)
endfunction()

heed_find_archive(HEED_TEXT UTF8PROC HEED_UTF8PROC_LIBRARY utf8proc utf8proc_static)
heed_find_archive(HEED_VULKAN ZLIB ZLIB_LIBRARY z zlibstatic zlib)
if(HEED_PYTHON AND UNIX AND NOT HEED_BUNDLE)
  list(PREPEND CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()

# heed_take_archive(TARGET FILE): adds the objects of an archive to a static library.
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

# heed_take_archives(TARGET): does so for the archives of all libraries that heed links.
function(heed_take_archives target)
  foreach(library IN ITEMS UTF8PROC ZLIB)
    if(HEED_${library}_ARCHIVE)
      heed_take_archive(${target} ${HEED_${library}_ARCHIVE})
    endif()
  endforeach()
endfunction()
