# heed_embed_shaders(target): embeds the committed SPIR-V of every variant of variants.txt in `target`. Needs nothing
# but CMake.
#
# At configure time variants.txt becomes generated/kernel_ids.inc (HEED_KERNEL(MatmulF32) ...), the enumerators of
# KernelId; at build time the .spv files become generated/kernel_table.cpp, again whenever one of them changes.

set(HEED_SHADERS_DIR ${CMAKE_CURRENT_LIST_DIR})

# heed_read_variants(FILE ROWS): each row "name|Enumerator|Params|bindings".
function(heed_read_variants file rows)
  file(STRINGS ${file} lines)
  set(result "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "#.*" "" line "${line}")
    if(line MATCHES "^[ \t]*([a-z0-9_]+)[ \t]+[a-z0-9_]+\\.comp[ \t]+([A-Za-z0-9]+)[ \t]+([0-9]+)")
      set(name ${CMAKE_MATCH_1})
      set(params ${CMAKE_MATCH_2})
      set(bindings ${CMAKE_MATCH_3})
      set(enumerator "")
      string(REPLACE "_" ";" words ${name})
      foreach(word IN LISTS words)
        string(SUBSTRING ${word} 0 1 head)
        string(SUBSTRING ${word} 1 -1 tail)
        string(TOUPPER ${head} head)
        string(APPEND enumerator ${head}${tail})
      endforeach()
      list(APPEND result "${name}|${enumerator}|${params}|${bindings}")
    elseif(NOT line MATCHES "^[ \t]*$")
      message(FATAL_ERROR "${file}: cannot read '${line}'")
    endif()
  endforeach()
  set(${rows} "${result}" PARENT_SCOPE)
endfunction()

# heed_write_kernel_table(VARIANTS SPIRV_DIR OUTPUT): the build step, run as `cmake -P`.
function(heed_write_kernel_table variants spirv output)
  heed_read_variants(${variants} rows)
  # The file grows kernel by kernel, since CMake copies a variable at each change.
  file(WRITE ${output} "// Made from shaders/variants.txt and shaders/spirv.
#include \"kernels/kernel_table.hpp\"
#include \"kernels/params.hpp\"

#include <iterator>

namespace heed {
namespace {
")
  set(table "")
  foreach(row IN LISTS rows)
    string(REPLACE "|" ";" fields ${row})
    list(GET fields 0 name)
    list(GET fields 1 enumerator)
    list(GET fields 2 params)
    list(GET fields 3 bindings)
    file(READ ${spirv}/${name}.spv hex HEX)
    # Files are little-endian words; literals are right on every host. Two words to a match take half the time of one.
    string(LENGTH ${hex} length)
    math(EXPR paired "${length} / 16 * 16")
    string(SUBSTRING ${hex} ${paired} -1 last)
    string(SUBSTRING ${hex} 0 ${paired} hex)
    string(REGEX REPLACE "(..)(..)(..)(..)(..)(..)(..)(..)" "0x\\4\\3\\2\\1,0x\\8\\7\\6\\5," words "${hex}")
    string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1," last "${last}")
    file(APPEND ${output} "constexpr uint32_t k${enumerator}[] = {${words}${last}};\n")
    string(APPEND table "    {\"${name}\", k${enumerator}, std::size(k${enumerator}), ${bindings}, "
                        "sizeof(${params})},\n")
  endforeach()
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
  heed_read_variants(${variants} rows)
  set(ids "")
  set(inputs "")
  foreach(row IN LISTS rows)
    string(REPLACE "|" ";" fields ${row})
    list(GET fields 0 name)
    list(GET fields 1 enumerator)
    string(APPEND ids "HEED_KERNEL(${enumerator})\n")
    list(APPEND inputs ${HEED_SHADERS_DIR}/spirv/${name}.spv)
  endforeach()
  file(CONFIGURE OUTPUT ${generated}/kernel_ids.inc CONTENT "${ids}" @ONLY)

  add_custom_command(
    OUTPUT ${generated}/kernel_table.cpp
    COMMAND ${CMAKE_COMMAND} -DHEED_VARIANTS=${variants} -DHEED_SPIRV=${HEED_SHADERS_DIR}/spirv
            -DHEED_OUTPUT=${generated}/kernel_table.cpp -P ${HEED_SHADERS_DIR}/shaders.cmake
    DEPENDS ${inputs} ${variants} ${HEED_SHADERS_DIR}/shaders.cmake
    COMMENT "Embedding shaders"
    VERBATIM)
  target_sources(${target} PRIVATE ${generated}/kernel_table.cpp)
  # For every target of this directory: who sees kernels/kernel_table.hpp needs its enumerators.
  include_directories(${generated})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  heed_write_kernel_table(${HEED_VARIANTS} ${HEED_SPIRV} ${HEED_OUTPUT})
endif()
