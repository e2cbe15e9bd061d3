// Compiles GLSL to SPIR-V, for hosts that bring their own passes as source. This is an optional library: link heed::shaderc (CMake option
// HEED_SHADERC; it needs libshaderc, and Debian 12's does not link). heed itself needs no shader compiler: it accepts SPIR-V from any
// compiler.
//
//   std::vector<uint32_t> words;
//   heed::Status s = heed::compile_glsl(source, {.name = "fade.comp", .log = log}, &words);
//   ... g.custom({.name = "fade", .spirv = words, ...}, {x});
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <heed/status.hpp>

namespace heed {

// A macro, as #define name value gives it.
struct GlslDefine {
  std::string_view name;
  std::string_view value = {};
};

// Options of compile_glsl.
struct GlslOptions {
  std::string_view name = "shader.comp";     // for messages
  std::span<const GlslDefine> defines = {};  // placed behind #version
  bool optimize = true;                      // by SPIRV-Tools; false: kernels that are easier to debug
  Log log = {};
};

// Compiles a compute shader with entry point "main" for Vulkan 1.1. The source must state its #version (310 es, 430 or later) and cannot
// #include. InvalidArgument: the compiler's messages, with lines, are in the log, and *words is unchanged. Takes milliseconds, so do not
// call it in the middle of a frame. Thread-safe.
Status compile_glsl(std::string_view source, const GlslOptions& options, std::vector<uint32_t>* words);

}  // namespace heed
