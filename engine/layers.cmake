# One object library per layer, and per room of a layer that has rooms (vulkan/plan). It sees its own headers and those
# of what it stands on, and nothing else: its include path holds one link per allowed layer or room, so that a wrong
# #include does not compile.

set(HEED_LAYERS "")

# heed_layer(NAME [SEES name...] [LIBRARIES target...] [INCLUDES folder...])
function(heed_layer name)
  cmake_parse_arguments(LAYER "" "" "SEES;LIBRARIES;INCLUDES" ${ARGN})
  string(REPLACE "/" "_" layer ${name})
  set(target heed_${layer})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/engine/${name}/*.cpp)
  add_library(${target} OBJECT ${sources})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)  # whatever a parent project says
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PUBLIC heed_include PRIVATE heed_warnings Threads::Threads ${LAYER_LIBRARIES})
  if(BUILD_SHARED_LIBS)
    target_compile_definitions(${target} PRIVATE HEED_BUILDING_SHARED)
  endif()
  if(NOT MSVC)
    target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti)
  endif()
  foreach(seen IN LISTS LAYER_SEES ITEMS ${name})
    set(root ${PROJECT_BINARY_DIR}/layers/${seen})
    get_filename_component(folder ${root}/${seen} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/engine/${seen} ${root}/${seen} SYMBOLIC RESULT failed)
    if(failed AND NOT failed STREQUAL "0")
      set(root ${PROJECT_SOURCE_DIR}/engine)  # no links on this file system: the check is left to others
    endif()
    target_include_directories(${target} PRIVATE ${root})
  endforeach()
  target_include_directories(${target} PRIVATE ${LAYER_INCLUDES})
  if(NOT name STREQUAL "kernels")  # whose families give the same names to their own tiles and costs
    heed_unity(${target})
  endif()
  set(HEED_LAYERS ${HEED_LAYERS} ${layer} PARENT_SCOPE)
endfunction()

# The rooms of engine/vulkan, from the lowest up; each sees what it names. engine/vulkan/README.md says what they hold.
function(heed_vulkan_rooms)
  set(calls base)
  set(probe ${calls} graph kernels vulkan/calls)
  set(context ${probe} vulkan/probe)
  set(memory ${context} vulkan/context)
  set(pipelines ${context} vulkan/context)
  set(recording ${memory} vulkan/memory)
  set(plan ${recording} vulkan/pipelines vulkan/recording)
  set(device ${plan} vulkan/plan)
  set(tune base graph kernels vulkan/calls vulkan/probe vulkan/context vulkan/pipelines vulkan/device)
  foreach(room calls probe context memory pipelines recording plan device tune)
    heed_layer(vulkan/${room} SEES ${${room}} INCLUDES ${HEED_VULKAN_INCLUDE})
  endforeach()
  set(HEED_LAYERS ${HEED_LAYERS} PARENT_SCOPE)
endfunction()

heed_layer(base)
heed_layer(graph SEES base)
heed_layer(cpu SEES base graph LIBRARIES heed::highway)
if(MINGW AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Windows aligns stacks to 16 bytes, and GCC takes spilled vectors there to lie on 32 or 64.
  target_compile_options(heed_cpu PRIVATE -Wa,-muse-unaligned-vector-move)
endif()
# Highway compiles each of these once for each instruction set.
set(repeated attention_kernels canon_matmul canon_rows matmul_blocks matmul_kernels matmul_rounded row_kernels update_kernels)
list(TRANSFORM repeated REPLACE ".+" "${PROJECT_SOURCE_DIR}/engine/cpu/\\0.cpp")
set_source_files_properties(${repeated} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# Each operation of a reproducible plan rounds once, on every instruction set.
if(NOT MSVC)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/engine/cpu/canon_matmul.cpp ${PROJECT_SOURCE_DIR}/engine/cpu/canon_rows.cpp
                              PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
endif()
if(HEED_SANITIZE)
  # Their loops over eight types take GCC over ten minutes with sanitizers; the stage memcheck looks at their accesses.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/engine/cpu/matmul_blocks.cpp ${PROJECT_SOURCE_DIR}/engine/cpu/matmul_rounded.cpp
                              PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
endif()
heed_layer(nn)
heed_layer(train SEES base graph)
heed_layer(io SEES base LIBRARIES nlohmann_json::nlohmann_json)
heed_layer(text SEES base io LIBRARIES heed::utf8proc)
if(HEED_VULKAN)
  find_path(HEED_VULKAN_INCLUDE vulkan/vulkan_core.h REQUIRED)
  heed_layer(kernels SEES base graph)
  include(${PROJECT_SOURCE_DIR}/shaders/shaders.cmake)  # embeds the committed SPIR-V: heed_embed_shaders
  heed_embed_shaders(heed_kernels)
  heed_vulkan_rooms()
  heed_layer(text/frames SEES base io text INCLUDES ${HEED_VULKAN_INCLUDE})
  heed_layer(api SEES base graph cpu vulkan/device vulkan/tune INCLUDES ${HEED_VULKAN_INCLUDE})
  target_compile_definitions(heed_api PRIVATE HEED_VULKAN=1)
else()
  heed_layer(api SEES base graph cpu)
endif()
# The C interface, with the part of it that is about Vulkan, or that answers that there is none.
heed_layer(c SEES base graph)
if(HEED_VULKAN)
  heed_layer(c/vulkan SEES base graph c INCLUDES ${HEED_VULKAN_INCLUDE})
else()
  heed_layer(c/without_vulkan SEES base graph c)
endif()
# Layers share one precompiled header, which holds nothing of any layer.
heed_precompile(heed_base ${HEED_STANDARD_HEADERS} <heed/device.hpp> <heed/plan.hpp>)
foreach(layer IN LISTS HEED_LAYERS)
  if(NOT layer STREQUAL "base")
    heed_precompile(heed_${layer} REUSE_FROM heed_base)
  endif()
endforeach()
# Parameter structs shared by C++ and GLSL.
if(TARGET heed_kernels)
  target_include_directories(heed_kernels PRIVATE ${PROJECT_SOURCE_DIR}/shaders)
endif()
