# One object library per layer, and per room of a layer that has rooms (vulkan/plan). It sees its own headers and those
# of what it stands on, and nothing else: its include path holds one link per allowed layer or room, so that a wrong
# #include does not compile.

set(HEED_LAYERS "")

# Another build of the same sources with the same compiler: layers take its objects where those were compiled with the same
# definitions. For tests of what is made of the objects.
set(HEED_OBJECTS_OF "" CACHE PATH "")
mark_as_advanced(HEED_OBJECTS_OF)
if(HEED_OBJECTS_OF)
  set(HEED_PRECOMPILE OFF)
endif()

# heed_layer(NAME [LIGHT] [ROOMS folder...] [SEES name...] [LIBRARIES target...] [INCLUDES folder...] [DEFINES name...])
# ROOMS: folders of the layer whose files belong to it; they see each other.
# LIGHT: describes graphs, asks drivers at start-up or hands calls on, without loops over elements or characters; it is compiled in
# two thirds of the time.
function(heed_layer name)
  cmake_parse_arguments(LAYER "LIGHT" "" "ROOMS;SEES;LIBRARIES;INCLUDES;DEFINES" ${ARGN})
  string(REPLACE "/" "_" layer ${name})
  set(target heed_${layer})
  list(JOIN LAYER_DEFINES - list)
  set(list objects/${layer}-${list}.txt)
  set(HEED_LAYERS ${HEED_LAYERS} ${layer} PARENT_SCOPE)
  if(HEED_OBJECTS_OF AND EXISTS ${HEED_OBJECTS_OF}/${list})
    file(STRINGS ${HEED_OBJECTS_OF}/${list} objects)
    add_library(${target} OBJECT IMPORTED GLOBAL)
    set_target_properties(${target} PROPERTIES IMPORTED_OBJECTS "${objects}")
    return()
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/engine/${name})
  list(TRANSFORM LAYER_ROOMS REPLACE "(.+)" "${folder}/\\1/*.cpp" OUTPUT_VARIABLE rooms)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp ${rooms})
  add_library(${target} OBJECT ${sources})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)  # whatever a parent project says
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PUBLIC heed_include PRIVATE heed_warnings Threads::Threads ${LAYER_LIBRARIES})
  target_compile_definitions(${target} PRIVATE ${LAYER_DEFINES})
  if(BUILD_SHARED_LIBS AND WIN32)  # elsewhere a shared library has the same objects as a static one
    target_compile_definitions(${target} PRIVATE HEED_BUILDING_SHARED)
  endif()
  set(owner base)
  if(LAYER_LIGHT)
    target_link_libraries(${target} PRIVATE heed_light)
    set(owner nn)
  endif()
  # Layers share one precompiled header, which holds nothing of any layer. GCC 13 and later take it only where files are optimized
  # as it is, so that LIGHT layers share another one.
  if(name STREQUAL owner)
    heed_precompile(${target} ${HEED_STANDARD_HEADERS} <heed/device.hpp> <heed/plan.hpp>)
  else()
    heed_precompile(${target} REUSE_FROM heed_${owner})
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
  heed_unity(${target})
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/${list} CONTENT "$<JOIN:$<TARGET_OBJECTS:${target}>,\n>\n")
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
    set(light "")
    if(room MATCHES "^(probe|tune)$")  # the others take part in a host's frames, or in uploads
      set(light LIGHT)
    endif()
    heed_layer(vulkan/${room} ${light} SEES ${${room}} INCLUDES ${HEED_VULKAN_INCLUDE})
  endforeach()
  set(HEED_LAYERS ${HEED_LAYERS} PARENT_SCOPE)
endfunction()

heed_layer(base)
heed_layer(graph ROOMS build rewrite schedule SEES base)
if(HEED_CPU)
  heed_layer(cpu ROOMS attention device gemm ops reproducible simd SEES base graph LIBRARIES heed::highway)
endif()
if(HEED_CPU AND MINGW AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Windows aligns stacks to 16 bytes, and GCC takes spilled vectors there to lie on 32 or 64.
  target_compile_options(heed_cpu PRIVATE -Wa,-muse-unaligned-vector-move)
endif()
# Highway compiles each of these once for each instruction set.
set(repeated attention/attention_kernels reproducible/canon gemm/matmul_blocks gemm/matmul_kernels gemm/matmul_rounded simd/row_kernels
    simd/update_kernels)
list(TRANSFORM repeated REPLACE ".+" "${PROJECT_SOURCE_DIR}/engine/cpu/\\0.cpp")
set_source_files_properties(${repeated} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# Each operation of a reproducible plan rounds once, on every instruction set.
if(NOT MSVC)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/engine/cpu/reproducible/canon.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=off
                                                                                  SKIP_PRECOMPILE_HEADERS ON)
endif()
if(HEED_SANITIZE)
  # Their loops over eight types take GCC over ten minutes with sanitizers; the test memcheck looks at their accesses.
  # Clang takes a precompiled header only where files are compiled with the same sanitizers.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/engine/cpu/gemm/matmul_blocks.cpp ${PROJECT_SOURCE_DIR}/engine/cpu/gemm/matmul_rounded.cpp
                              PROPERTIES COMPILE_OPTIONS -fno-sanitize=all SKIP_PRECOMPILE_HEADERS ON)
endif()
heed_layer(nn LIGHT)
heed_layer(train SEES base graph)
heed_layer(cases LIGHT SEES base graph)
heed_layer(io SEES base LIBRARIES nlohmann_json::nlohmann_json)
heed_layer(models SEES base io)
include(${PROJECT_SOURCE_DIR}/engine/models/models.cmake)
heed_list_families(heed_models)
if(HEED_TEXT)
  heed_layer(text ROOMS bpe generator grammar sentences wordpiece SEES base io models LIBRARIES heed::utf8proc)
endif()
if(HEED_SANITIZE)
  # The tests sanitize.* compile in half the time without optimization, which makes loops over vectors and characters many times slower.
  foreach(target IN ITEMS heed_cpu heed_text)
    if(TARGET ${target})
      target_compile_options(${target} PRIVATE -O1)
      set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)  # Clang takes none of another optimization
    endif()
  endforeach()
endif()
set(devices "")
if(HEED_CPU)
  list(APPEND devices HEED_CPU)
endif()
if(HEED_VULKAN)
  list(APPEND devices HEED_VULKAN)
endif()
if(HEED_VULKAN)
  find_path(HEED_VULKAN_INCLUDE vulkan/vulkan_core.h REQUIRED)
  heed_layer(kernels ROOMS attention choose matmul rows SEES base graph)
  include(${PROJECT_SOURCE_DIR}/shaders/shaders.cmake)  # embeds the committed SPIR-V: heed_embed_shaders
  get_target_property(is_taken heed_kernels IMPORTED)
  if(is_taken)
    include_directories(${HEED_OBJECTS_OF}/generated)
  else()
    heed_embed_shaders(heed_kernels)
    # Parameter structs shared by C++ and GLSL.
    target_include_directories(heed_kernels PRIVATE ${PROJECT_SOURCE_DIR}/shaders)
  endif()
  heed_vulkan_rooms()
  if(HEED_TEXT)
    heed_layer(text/frames SEES base io models text INCLUDES ${HEED_VULKAN_INCLUDE})
    heed_layer(c/text/frames LIGHT SEES base graph c INCLUDES ${HEED_VULKAN_INCLUDE})
  endif()
  heed_layer(api SEES base graph cases cpu vulkan/device vulkan/tune INCLUDES ${HEED_VULKAN_INCLUDE} DEFINES ${devices})
else()
  heed_layer(api SEES base graph cases cpu DEFINES ${devices})
endif()
# The C interface, with the part of it that is about Vulkan, or that answers that there is none. That about text is there or not.
heed_layer(c LIGHT SEES base graph)
heed_layer(c/generated LIGHT SEES base graph c)  # by engine/c/generate.py
if(HEED_VULKAN)
  heed_layer(c/vulkan LIGHT SEES base graph c INCLUDES ${HEED_VULKAN_INCLUDE})
else()
  heed_layer(c/without_vulkan LIGHT SEES base graph c)
endif()
if(HEED_TEXT)
  heed_layer(c/text LIGHT SEES base graph c)
endif()
