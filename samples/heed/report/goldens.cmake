# Writes generated/goldens.cpp: the small golden files of each system as arrays, for `heed report` on machines that have only the program.
file(GLOB files ${PROJECT_SOURCE_DIR}/tests/goldens/*_odd.safetensors ${PROJECT_SOURCE_DIR}/tests/goldens/*_seed.safetensors
                ${PROJECT_SOURCE_DIR}/tests/goldens/*pad.safetensors)
set(arrays "")
set(rows "")
foreach(file IN LISTS files)
  file(SIZE ${file} bytes)
  if(bytes GREATER 8192)
    continue()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," list "${hex}")
  string(APPEND arrays "alignas(8) constexpr unsigned char k_${name}[] = {${list}};\n")
  string(APPEND rows "    {\"${name}\", std::as_bytes(std::span(k_${name}))},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/goldens.cpp @ONLY CONTENT
"#include \"report/goldens.hpp\"

namespace heed::program {

namespace {
@arrays@
const HeldGolden kHeld[] = {
@rows@};
}  // namespace

std::span<const HeldGolden> held_goldens() { return kHeld; }

}  // namespace heed::program
")
