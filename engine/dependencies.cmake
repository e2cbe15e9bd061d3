# Defines the libraries that heed links as targets that are visible in every directory of the build: heed::utf8proc (with HEED_TEXT),
# ZLIB::ZLIB (with HEED_VULKAN) and Threads::Threads. HEED_LINKED lists the first two. heed's own build uses this file, and so does
# find_package(heed) where it is installed.

# Finds a package and makes its target visible to the directories above, because everything that links heed links that target, too. A target
# that existed before is not changed.
macro(heed_find target)
  if(NOT TARGET ${target})
    find_package(${ARGN})
    if(TARGET ${target})
      get_target_property(heed_imported ${target} IMPORTED)
      if(heed_imported)
        set_target_properties(${target} PROPERTIES IMPORTED_GLOBAL TRUE)
      endif()
    endif()
  endif()
endmacro()

heed_find(Threads::Threads Threads REQUIRED)
set(HEED_LINKED "")

# zlib decompresses the shaders: Debian zlib1g-dev, vcpkg and Conan zlib.
if(NOT DEFINED HEED_VULKAN OR HEED_VULKAN)
  heed_find(ZLIB::ZLIB ZLIB REQUIRED)
  list(APPEND HEED_LINKED ZLIB::ZLIB)
endif()

# utf8proc gives the tokenizers Unicode data. Each of Debian libutf8proc-dev, vcpkg and Conan utf8proc has another target name.
if(NOT DEFINED HEED_TEXT OR HEED_TEXT)
  list(APPEND HEED_LINKED heed::utf8proc)
endif()
if((NOT DEFINED HEED_TEXT OR HEED_TEXT) AND NOT TARGET heed::utf8proc)
  add_library(heed::utf8proc INTERFACE IMPORTED GLOBAL)
  heed_find(utf8proc::utf8proc utf8proc CONFIG QUIET)
  heed_find(utf8proc unofficial-utf8proc CONFIG QUIET)
  if(TARGET utf8proc::utf8proc)
    target_link_libraries(heed::utf8proc INTERFACE utf8proc::utf8proc)
  elseif(TARGET utf8proc)
    target_link_libraries(heed::utf8proc INTERFACE utf8proc)
  else()
    find_path(HEED_UTF8PROC_INCLUDE utf8proc.h REQUIRED)
    find_library(HEED_UTF8PROC_LIBRARY NAMES utf8proc utf8proc_static REQUIRED)
    set_target_properties(heed::utf8proc PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${HEED_UTF8PROC_INCLUDE}
                                                    INTERFACE_LINK_LIBRARIES ${HEED_UTF8PROC_LIBRARY})
    if(WIN32 AND HEED_UTF8PROC_LIBRARY MATCHES "(_static\\.lib|[^l]\\.a)$")  # not libutf8proc.dll.a
      set_target_properties(heed::utf8proc PROPERTIES INTERFACE_COMPILE_DEFINITIONS UTF8PROC_STATIC)
    endif()
  endif()
endif()
