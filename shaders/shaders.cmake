# heed_embed_shaders(target): embeds the committed SPIR-V of every module of variants.txt in `target`, each compressed by gzip. Needs
# nothing but CMake.
#
# At configure time variants.txt becomes generated/kernel_ids.inc (HEED_KERNEL(MatmulF32) ...), the enumerators of KernelId, and
# generated/kernel_params.inc includes the headers that have push constants. At build time the .spv files become generated/kernel_table.cpp,
# which is updated whenever one of them changes.

cmake_minimum_required(VERSION 3.21)  # for a run by `cmake -P`
set(HEED_SHADERS_DIR ${CMAKE_CURRENT_LIST_DIR})

# The numbers of element types in shaders: shared/elements.glsl. Shaders that copy bits distinguish types only by their size.
set(HEED_TYPE_f32 0)
set(HEED_TYPE_i32 0)
set(HEED_TYPE_f16 1)
set(HEED_TYPE_u16 1)
set(HEED_TYPE_bf16 2)
set(HEED_TYPE_u8 3)

# The enumerator of a kernel: MatmulF32 of matmul_f32.
function(heed_enumerator name result)
  set(enumerator "")
  string(REPLACE "_" ";" words ${name})
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 head)
    string(SUBSTRING ${word} 1 -1 tail)
    string(TOUPPER ${head} head)
    string(APPEND enumerator ${head}${tail})
  endforeach()
  set(${result} ${enumerator} PARENT_SCOPE)
endfunction()

# The value of constant TYPES: the types of the input, of results, and of weights; `narrow` means weights of two bytes.
function(heed_types type result)
  string(REPLACE "_" ";" words "${type}")
  list(GET words 0 from)
  set(weights ${from})
  if("narrow" IN_LIST words)
    set(weights f16)
    list(REMOVE_ITEM words narrow)
  endif()
  list(GET words -1 to)
  if(NOT DEFINED HEED_TYPE_${from} OR NOT DEFINED HEED_TYPE_${to})
    message(FATAL_ERROR "variants.txt: unknown element type '${type}'")
  endif()
  math(EXPR value "${HEED_TYPE_${from}} + ${HEED_TYPE_${to}} * 256 + ${HEED_TYPE_${weights}} * 65536")
  set(${result} ${value} PARENT_SCOPE)
endfunction()

# heed_read_variants(FILE KERNELS MODULES): the families of the table, expanded. Each kernel is
# "name|Enumerator|Params|bindings|module|types|walks|twin with subgroup operations|twin of reproducible plans", each module
# "name|source|define define".
function(heed_read_variants file kernels modules)
  file(STRINGS ${file} lines)
  set(all_kernels "")
  set(all_modules "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "#.*" "" line "${line}")
    if(line MATCHES "^[ \t]*$")
      continue()
    endif()
    if(NOT line MATCHES
       "^[ \t]*([a-z0-9_*]+)[ \t]+([a-z0-9_]+\\.comp)[ \t]+([A-Za-z0-9]+)[ \t]+([0-9]+)([ \t].*)?$")
      message(FATAL_ERROR "${file}: cannot read '${line}'")
    endif()
    set(pattern ${CMAKE_MATCH_1})
    set(source ${CMAKE_MATCH_2})
    set(params ${CMAKE_MATCH_3})
    set(bindings ${CMAKE_MATCH_4})
    string(REGEX MATCHALL "[^ \t]+" words "${CMAKE_MATCH_5}")
    set(types "")
    set(shared FALSE)
    set(given_module "")
    set(forms "")
    set(walks 0)
    set(defines "")
    foreach(word IN LISTS words)
      if(word MATCHES "^(types|modules)=(.+)$")
        string(REPLACE "," ";" types ${CMAKE_MATCH_2})
        if(CMAKE_MATCH_1 STREQUAL "types")
          set(shared TRUE)
        endif()
      elseif(word MATCHES "^module=(.+)$")
        set(given_module ${CMAKE_MATCH_1})
      elseif(word MATCHES "^forms=(.+)$")
        string(REPLACE "," ";" forms ${CMAKE_MATCH_1})
      elseif(word MATCHES "^walks=([0-9]+)$")
        set(walks ${CMAKE_MATCH_1})
      else()
        list(APPEND defines ${word})
      endif()
    endforeach()
    if(types STREQUAL "")
      set(types "-")
    endif()
    foreach(type IN LISTS types)
      string(REPLACE "*" ${type} name ${pattern})
      set(value 0)
      set(own_defines ${defines})
      set(module ${name})
      if(NOT type STREQUAL "-")
        heed_types(${type} value)
      endif()
      if(shared)
        string(REPLACE "_*" "" module ${pattern})
        if(NOT given_module STREQUAL "")
          set(module ${given_module})
        endif()
      elseif(type STREQUAL "f32")
        list(PREPEND own_defines A_BITS=32)
      elseif(type STREQUAL "f16")
        list(PREPEND own_defines A_BITS=16)
      elseif(type STREQUAL "bf16")
        list(PREPEND own_defines A_BITS=16 A_BFLOAT)
      endif()
      heed_enumerator(${name} plain)
      set(subgroup -)
      set(canon -)
      foreach(form IN LISTS forms)
        if(form STREQUAL "subgroup")
          set(subgroup ${plain}Subgroup)
        elseif(form STREQUAL "exact")
          if(NOT type MATCHES "f16")
            set(canon ${plain})
          endif()
        elseif(form MATCHES "^canon(:[0-9]+)?$")
          if(type MATCHES "^(f32.*|.*_f32|-)$")
            set(canon ${plain}Canon)
          endif()
        else()
          message(FATAL_ERROR "${file}: unknown form '${form}'")
        endif()
      endforeach()
      list(APPEND all_kernels "${name}|${plain}|${params}|${bindings}|${module}|${value}|${walks}|${subgroup}|${canon}")
      string(REPLACE ";" " " text "${own_defines}")
      list(APPEND all_modules "${module}|${source}|${text}")
      if(NOT subgroup STREQUAL "-")
        list(APPEND all_kernels
             "${name}_subgroup|${subgroup}|${params}|${bindings}|${module}_subgroup|${value}|${walks}|-|-")
        list(APPEND all_modules "${module}_subgroup|${source}|${text} SUBGROUPS")
      endif()
      if(canon STREQUAL "${plain}Canon")
        set(canon_bindings ${bindings})
        if(forms MATCHES "canon:([0-9]+)")
          set(canon_bindings ${CMAKE_MATCH_1})
        endif()
        # Canon twins write words, so one serves results of two and of four bytes.
        set(canon_module ${module})
        if("TWO_BYTES" IN_LIST defines)
          string(REPLACE "_*" "" canon_module ${pattern})
        endif()
        string(REGEX REPLACE "(TWO|FOUR)_BYTES" "" canon_text "${text}")
        list(APPEND all_kernels
             "${name}_canon|${canon}|${params}|${canon_bindings}|${canon_module}_canon|${value}|${walks}|-|${canon}")
        list(APPEND all_modules "${canon_module}_canon|${source}|${canon_text} CANON")
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES all_modules)
  set(${kernels} "${all_kernels}" PARENT_SCOPE)
  set(${modules} "${all_modules}" PARENT_SCOPE)
endfunction()

# Writes "module source define define" for each module, as input of shaders/compile.sh.
function(heed_list_modules variants output)
  heed_read_variants(${variants} kernels modules)
  string(REPLACE ";" "\n" text "${modules}")
  string(REPLACE "|" " " text "${text}")
  file(WRITE ${output} "${text}\n")
endfunction()

# heed_write_kernel_table(VARIANTS SPIRV_DIR OUTPUT): the build step, run as `cmake -P`.
function(heed_write_kernel_table variants spirv output)
  heed_read_variants(${variants} kernels modules)
  set(packed ${output}.gz)
  # The file grows module by module, since CMake copies a variable at each change.
  file(WRITE ${output} "// Made from shaders/variants.txt and shaders/spirv.
#include \"kernels/kernel_table.hpp\"
#include \"kernels/params.hpp\"

#include <cstddef>
#include <iterator>

namespace heed {
namespace {
")
  foreach(module IN LISTS modules)
    string(REGEX REPLACE "[|].*" "" name "${module}")
    set(file ${spirv}/${name}.spv)
    file(SIZE ${file} size)
    math(EXPR words "${size} / 4")
    file(SHA256 ${file} digest)
    string(SUBSTRING ${digest} 0 16 digest)
    file(ARCHIVE_CREATE OUTPUT ${packed} PATHS ${file} FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
    file(READ ${packed} hex HEX)
    # Bytes 4 to 7 are the compression time, which is cleared for reproducible builds.
    string(SUBSTRING ${hex} 0 8 head)
    string(SUBSTRING ${hex} 16 -1 hex)
    string(PREPEND hex ${head}00000000)
    # Matching four bytes at once takes half the time.
    string(LENGTH ${hex} length)
    math(EXPR by_fours "${length} / 8 * 8")
    string(SUBSTRING ${hex} ${by_fours} -1 last)
    string(SUBSTRING ${hex} 0 ${by_fours} hex)
    string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\1,0x\\2,0x\\3,0x\\4," bytes "${hex}")
    string(REGEX REPLACE "(..)" "0x\\1," last "${last}")
    file(APPEND ${output} "constexpr unsigned char b_${name}[] = {${bytes}${last}};
constexpr PackedSpirv k_${name} = {b_${name}, sizeof b_${name}, ${words}, 0x${digest}};\n")
  endforeach()
  set(table "")
  foreach(kernel IN LISTS kernels)
    string(REPLACE "|" ";" fields ${kernel})
    list(GET fields 0 name)
    list(GET fields 2 params)
    list(GET fields 3 bindings)
    list(GET fields 4 module)
    list(GET fields 5 types)
    list(GET fields 6 walks)
    list(GET fields 7 subgroup)
    list(GET fields 8 canon)
    set(length_at 0)
    if(walks GREATER 0)
      set(length_at "offsetof(${params}, n)")
    endif()
    foreach(twin subgroup canon)
      if(${twin} STREQUAL "-")
        set(${twin} kNoTwin)
      else()
        set(${twin} KernelId::${${twin}})
      endif()
    endforeach()
    string(APPEND table "    {\"${name}\", &k_${module}, ${bindings}, sizeof(${params}), ${types}, "
                        "${walks}, ${length_at}, ${subgroup}, ${canon}},\n")
  endforeach()
  file(REMOVE ${packed})
  file(APPEND ${output} "
constexpr KernelInfo kTable[] = {
${table}};
static_assert(std::size(kTable) == kKernelCount);
}  // namespace

const KernelInfo& kernel_info(KernelId id) { return kTable[static_cast<uint32_t>(id)]; }

}  // namespace heed
")
endfunction()

function(heed_embed_shaders target)
  set(variants ${HEED_SHADERS_DIR}/variants.txt)
  set(generated ${PROJECT_BINARY_DIR}/generated)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${variants})
  heed_read_variants(${variants} kernels modules)
  set(ids "")
  foreach(kernel IN LISTS kernels)
    string(REPLACE "|" ";" fields ${kernel})
    list(GET fields 1 enumerator)
    string(APPEND ids "HEED_KERNEL(${enumerator})\n")
  endforeach()
  set(inputs "")
  foreach(module IN LISTS modules)
    string(REGEX REPLACE "[|].*" "" name "${module}")
    list(APPEND inputs ${HEED_SHADERS_DIR}/spirv/${name}.spv)
  endforeach()
  file(CONFIGURE OUTPUT ${generated}/kernel_ids.inc CONTENT "${ids}" @ONLY)
  file(GLOB headers CONFIGURE_DEPENDS ${HEED_SHADERS_DIR}/shared/*.h)
  set(includes "")
  foreach(header IN LISTS headers)
    file(STRINGS ${header} blocks REGEX "^HEED_BEGIN_PARAMS" LIMIT_COUNT 1)
    if(blocks)
      get_filename_component(name ${header} NAME)
      string(APPEND includes "#include \"shared/${name}\"\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${generated}/kernel_params.inc CONTENT "${includes}" @ONLY)

  add_custom_command(
    OUTPUT ${generated}/kernel_table.cpp
    COMMAND ${CMAKE_COMMAND} -DHEED_VARIANTS=${variants} -DHEED_SPIRV=${HEED_SHADERS_DIR}/spirv
            -DHEED_OUTPUT=${generated}/kernel_table.cpp -P ${HEED_SHADERS_DIR}/shaders.cmake
    DEPENDS ${inputs} ${variants} ${HEED_SHADERS_DIR}/shaders.cmake
    COMMENT "Embedding shaders"
    VERBATIM)
  target_sources(${target} PRIVATE ${generated}/kernel_table.cpp)
  # For every target of this directory, since users of kernels/kernel_table.hpp need its enumerators.
  include_directories(${generated})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  if(HEED_SPIRV)
    heed_write_kernel_table(${HEED_VARIANTS} ${HEED_SPIRV} ${HEED_OUTPUT})
  else()
    heed_list_modules(${HEED_VARIANTS} ${HEED_OUTPUT})
  endif()
endif()
