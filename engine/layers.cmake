# Makes one object library per layer, and one per room of a layer that has rooms: a room is a subfolder with its own list of what it may
# include, such as vulkan/plan. Files can include only headers of their own layer and of the layers it lists in SEES: the include path holds
# one link per allowed layer or room, so that any other #include does not compile.

set(HEED_LAYERS "")

# The folder of another build of the same sources with the same compiler. Layers use its object files if they were compiled with the same
# definitions. This is for tests that only link the objects.
set(HEED_OBJECTS_OF "" CACHE PATH "")
mark_as_advanced(HEED_OBJECTS_OF)
if(HEED_OBJECTS_OF)
  set(HEED_PRECOMPILE OFF)
endif()

# heed_layer(NAME [FAST | SMALL] [ROOMS folder...] [SEES name...] [LIBRARIES target...] [INCLUDES folder...] [DEFINES name...])
# FAST: the layer computes or records, and is compiled with the full optimization of the build type. SMALL: the layer prepares such work or
# runs rarely, and is optimized for size. All other layers, such as those that compile plans or read files and text, get -O2.
# ROOMS: subfolders whose files belong to this layer and may include each other's headers.
function(heed_layer name)
  cmake_parse_arguments(LAYER "FAST;SMALL" "" "ROOMS;SEES;LIBRARIES;INCLUDES;DEFINES" ${ARGN})
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
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PUBLIC heed_include PRIVATE heed_warnings Threads::Threads ${LAYER_LIBRARIES})
  target_compile_definitions(${target} PRIVATE ${LAYER_DEFINES})
  if(BUILD_SHARED_LIBS AND WIN32)  # elsewhere a shared library has the same objects as a static one
    target_compile_definitions(${target} PRIVATE HEED_BUILDING_SHARED)
  endif()
  set(level -O2)
  if(LAYER_FAST)
    set(level "")
  elseif(LAYER_SMALL)
    set(level -Os)
  endif()
  if(NOT MSVC)
    target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti $<$<CONFIG:Release>:${level}>)
  endif()
  # Layers with the same optimization level share a precompiled header, which contains no header of a layer.
  get_property(owner DIRECTORY PROPERTY heed_precompiled${level})
  if(owner)
    heed_precompile(${target} REUSE_FROM ${owner})
  else()
    heed_precompile(${target} ${HEED_PRECOMPILED_HEADERS})
    set_property(DIRECTORY PROPERTY heed_precompiled${level} ${target})
  endif()
  foreach(seen IN LISTS LAYER_SEES ITEMS ${name})
    set(root ${PROJECT_BINARY_DIR}/layers/${seen})
    get_filename_component(folder ${root}/${seen} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/engine/${seen} ${root}/${seen} SYMBOLIC RESULT failed)
    if(failed AND NOT failed STREQUAL "0")
      set(root ${PROJECT_SOURCE_DIR}/engine)  # without links, other builds must find wrong includes
    endif()
    target_include_directories(${target} PRIVATE ${root})
  endforeach()
  target_include_directories(${target} PRIVATE ${LAYER_INCLUDES})
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/${list} CONTENT "$<JOIN:$<TARGET_OBJECTS:${target}>,\n>\n")
endfunction()

# The rooms of engine/vulkan, from the lowest to the highest; each lists the rooms that it may include. engine/vulkan/README.md describes
# them.
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
    set(optimization FAST)
    if(room MATCHES "^(probe|device|tune)$")
      set(optimization SMALL)
    endif()
    heed_layer(vulkan/${room} ${optimization} SEES ${${room}} INCLUDES ${HEED_VULKAN_INCLUDE})
  endforeach()
  set(HEED_LAYERS ${HEED_LAYERS} PARENT_SCOPE)
endfunction()

heed_layer(base FAST)
heed_layer(graph ROOMS build schedule SEES base)
heed_layer(graph/rewrite SMALL SEES base graph)  # runs once per plan
# These files build composite operations out of many other operations, once per graph, so size matters more than speed.
if(NOT MSVC)
  foreach(file IN ITEMS build/op_attention build/op_shape build/op_windows)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/engine/graph/${file}.cpp PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>
                                                                                          SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
endif()
if(HEED_CPU)
  heed_layer(cpu FAST ROOMS attention device gemm ops reproducible simd SEES base graph LIBRARIES heed::highway)
endif()
if(TARGET heed_cpu)
  # With CMAKE_UNITY_BUILD, too, these files are compiled one by one: a file for several instruction sets includes itself once for each.
  set_target_properties(heed_cpu PROPERTIES UNITY_BUILD OFF)
endif()
if(HEED_CPU AND MINGW AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Windows aligns stacks to 16 bytes, but GCC assumes that spilled vectors are aligned to 32 or 64.
  target_compile_options(heed_cpu PRIVATE -Wa,-muse-unaligned-vector-move)
endif()
# With -O3 these files get a third larger, for each of five instruction sets, and no faster.
if(NOT MSVC)
  foreach(file IN ITEMS gemm/matmul_blocks gemm/matmul_rounded reproducible/canon)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/engine/cpu/${file}.cpp PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>
                                                                                        SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
  # Contraction into fused multiply-adds is off: each operation of a reproducible plan, and of initial weights, rounds once on every
  # instruction set.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/engine/train/initial.cpp PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>
                                                                                     SKIP_PRECOMPILE_HEADERS ON)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/engine/cpu/reproducible/canon.cpp ${PROJECT_SOURCE_DIR}/engine/train/initial.cpp
               APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)
endif()
if(HEED_SANITIZE)
  # With sanitizers GCC needs over ten minutes for the loops over eight types in these files, so they are compiled without; the test
  # memcheck checks their memory accesses. Clang accepts a precompiled header only if it was compiled with the same sanitizers.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/engine/cpu/gemm/matmul_blocks.cpp ${PROJECT_SOURCE_DIR}/engine/cpu/gemm/matmul_rounded.cpp
                              PROPERTIES COMPILE_OPTIONS -fno-sanitize=all SKIP_PRECOMPILE_HEADERS ON)
endif()
heed_layer(nn SMALL)
heed_layer(train SMALL SEES base graph)
heed_layer(cases SMALL SEES base graph)
heed_layer(io SMALL SEES base LIBRARIES nlohmann_json::nlohmann_json)
heed_layer(models SMALL SEES base io)
if(HEED_ONNX)
  # Debian libprotozero-dev, vcpkg and Conan protozero. It has only headers, which no public header includes.
  find_path(HEED_PROTOZERO_INCLUDE protozero/pbf_reader.hpp REQUIRED)
  heed_layer(onnx SMALL ROOMS file SEES base graph io INCLUDES ${HEED_PROTOZERO_INCLUDE})
  if(NOT MSVC)
    # protozero throws exceptions; the files of this folder catch all of them.
    file(GLOB throwing ${PROJECT_SOURCE_DIR}/engine/onnx/file/*.cpp)
    set_source_files_properties(${throwing} PROPERTIES COMPILE_OPTIONS -fexceptions SKIP_PRECOMPILE_HEADERS ON)
  endif()
endif()
include(${PROJECT_SOURCE_DIR}/engine/models/models.cmake)
heed_list_families(heed_models)
if(HEED_TEXT)
  heed_layer(text ROOMS bpe generator grammar sentences wordpiece SEES base io models LIBRARIES heed::utf8proc)
  heed_layer(speech SMALL SEES base io models)
endif()
if(HEED_SANITIZE)
  # Without optimization the tests sanitize.* would compile in half the time, but loops over vectors and characters would be many times
  # slower.
  foreach(target IN ITEMS heed_cpu heed_text)
    if(TARGET ${target})
      target_compile_options(${target} PRIVATE -O1)
      set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)  # Clang accepts none of another optimization level
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
  heed_layer(kernels FAST ROOMS attention choose matmul rows SEES base graph LIBRARIES ZLIB::ZLIB)
  # Headers shared with GLSL have no include guard.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/engine/kernels/loops.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  include(${PROJECT_SOURCE_DIR}/shaders/shaders.cmake)  # embeds the committed SPIR-V: heed_embed_shaders
  get_target_property(is_taken heed_kernels IMPORTED)
  if(is_taken)
    include_directories(${HEED_OBJECTS_OF}/generated)
  else()
    heed_embed_shaders(heed_kernels)
    # This folder has the parameter structs that C++ and GLSL share.
    target_include_directories(heed_kernels PRIVATE ${PROJECT_SOURCE_DIR}/shaders)
  endif()
  heed_vulkan_rooms()
  if(HEED_TEXT)
    heed_layer(text/frames SEES base io models text INCLUDES ${HEED_VULKAN_INCLUDE})
    heed_layer(speech/frames SMALL SEES base io models speech text INCLUDES ${HEED_VULKAN_INCLUDE})
    heed_layer(c/text/frames SMALL SEES base graph c INCLUDES ${HEED_VULKAN_INCLUDE})
  endif()
  heed_layer(api SEES base graph cases cpu vulkan/device vulkan/tune INCLUDES ${HEED_VULKAN_INCLUDE} DEFINES ${devices})
else()
  heed_layer(api SEES base graph cases cpu DEFINES ${devices})
endif()
# The C interface. c/vulkan has its functions about Vulkan; without HEED_VULKAN other files define them to return an error. Functions about
# text exist only with HEED_TEXT.
heed_layer(c SMALL SEES base graph)
heed_layer(c/generated SMALL SEES base graph c)  # by engine/c/generate.py
if(HEED_VULKAN)
  heed_layer(c/vulkan SMALL SEES base graph c INCLUDES ${HEED_VULKAN_INCLUDE})
else()
  heed_layer(c/without_vulkan SMALL SEES base graph c)
endif()
if(HEED_TEXT)
  heed_layer(c/text SMALL SEES base graph c)
endif()
if(HEED_ONNX)
  heed_layer(c/onnx SMALL SEES base graph c)
endif()
