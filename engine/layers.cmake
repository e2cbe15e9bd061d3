# One object library per layer. A layer sees its own headers and those of the layers it stands on, and nothing
# else: its include path holds one link per allowed layer, so that a wrong #include does not compile.

set(HEED_LAYERS "")

# heed_layer(NAME [SEES layer...] [LIBRARIES target...])
function(heed_layer name)
  cmake_parse_arguments(LAYER "" "" "SEES;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/engine/${name}/*.cpp)
  add_library(heed_${name} OBJECT ${sources})
  set_target_properties(heed_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                VISIBILITY_INLINES_HIDDEN ON LINKER_LANGUAGE CXX)
  target_link_libraries(heed_${name} PUBLIC heed_include PRIVATE heed_warnings Threads::Threads ${LAYER_LIBRARIES})
  if(NOT MSVC)
    target_compile_options(heed_${name} PRIVATE -fno-exceptions -fno-rtti)
  endif()
  foreach(seen IN LISTS LAYER_SEES ITEMS ${name})
    set(root ${PROJECT_BINARY_DIR}/layers/${seen})
    file(MAKE_DIRECTORY ${root})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/engine/${seen} ${root}/${seen} SYMBOLIC RESULT failed)
    if(failed AND NOT failed STREQUAL "0")
      set(root ${PROJECT_SOURCE_DIR}/engine)  # no links on this file system: the check is left to others
    endif()
    target_include_directories(heed_${name} PRIVATE ${root})
  endforeach()
  set(HEED_LAYERS ${HEED_LAYERS} ${name} PARENT_SCOPE)
endfunction()

heed_layer(base)
heed_layer(graph SEES base)
heed_layer(cpu SEES base graph LIBRARIES hwy::hwy)
heed_layer(nn)
# Unicode for the tokenizers: Debian libutf8proc-dev, vcpkg utf8proc, Conan utf8proc.
find_path(HEED_UTF8PROC_INCLUDE utf8proc.h REQUIRED)
find_library(HEED_UTF8PROC_LIBRARY NAMES utf8proc utf8proc_static REQUIRED)
heed_layer(io SEES base LIBRARIES nlohmann_json::nlohmann_json)
target_include_directories(heed_io SYSTEM PRIVATE ${HEED_UTF8PROC_INCLUDE})
if(HEED_VULKAN)
  find_path(HEED_VULKAN_INCLUDE vulkan/vulkan_core.h REQUIRED)
  heed_layer(kernels SEES base graph)
  include(${PROJECT_SOURCE_DIR}/shaders/shaders.cmake)  # embeds the committed SPIR-V: heed_embed_shaders
  heed_embed_shaders(heed_kernels)
  heed_layer(vulkan SEES base graph kernels)
  target_include_directories(heed_vulkan PRIVATE ${HEED_VULKAN_INCLUDE})
  heed_layer(api SEES base graph cpu vulkan)
  target_compile_definitions(heed_api PRIVATE HEED_VULKAN=1)
  target_include_directories(heed_api PRIVATE ${HEED_VULKAN_INCLUDE})
else()
  heed_layer(api SEES base graph cpu)
endif()
# Parameter structs shared by C++ and GLSL.
if(TARGET heed_kernels)
  target_include_directories(heed_kernels PRIVATE ${PROJECT_SOURCE_DIR}/shaders)
endif()
