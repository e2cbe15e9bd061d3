// GLSL to SPIR-V, for passes that a host brings as source. An optional library: link heed::shaderc (CMake
// option HEED_SHADERC, needs libshaderc; that of Debian 12 does not link). heed itself needs no shader compiler, and takes
// the SPIR-V of any other.
//
//   std::vector<uint32_t> words;
//   heed::Status s = heed::compile_glsl(source, {.name = "fade.comp", .log = log}, &words);
//   ... g.custom({.name = "fade", .spirv = words, ...}, {x});
#pragma once

#include <cstdint>
#include <heed/status.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace heed {

// #define name value
struct GlslDefine {
  std::string_view name;
  std::string_view value = {};
};

struct GlslOptions {
  std::string_view name = "shader.comp";  // for messages
  std::span<const GlslDefine> defines = {};
  bool optimize = true;
  Log log = {};
};

// Compiles a compute shader with entry point "main" for Vulkan 1.1; the source says its #version (310 es, 430 or
// later). InvalidArgument: the compiler's messages, with lines, are in the log, and *words is unchanged. No #include.
// Takes milliseconds: not for the middle of a frame. Thread-safe.
Status compile_glsl(std::string_view source, const GlslOptions& options, std::vector<uint32_t>* words);

}  // namespace heed
