# Makes the lists of families from the files of engine/models, so that a new family needs only one new file. A line that begins with "extern
# constinit const DecoderFamily NAME" defines a family of decoders, one with "extern constinit const ChatFormat NAME" a family of chat
# templates.
function(heed_list_families target)
  get_target_property(is_taken ${target} IMPORTED)  # if objects of another build are used
  if(is_taken)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/engine/models/*.cpp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  foreach(kind IN ITEMS DecoderFamily ChatFormat)
    set(names "")
    foreach(source IN LISTS sources)
      file(STRINGS ${source} lines REGEX "^extern constinit const ${kind} [a-z0-9_]+")
      list(TRANSFORM lines REPLACE "^extern constinit const ${kind} ([a-z0-9_]+).*" "HEED_FAMILY(\\1)")
      list(APPEND names ${lines})
    endforeach()
    list(SORT names)
    list(JOIN names "\n" text)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/models/${kind}.inc CONTENT "${text}\n" @ONLY)
  endforeach()
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated/models)
endfunction()
