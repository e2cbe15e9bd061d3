#include <shaderc/shaderc.h>

#include <cstdlib>
#include <cstring>
#include <heed/glsl.hpp>
#include <memory>
#include <string>

namespace heed {
namespace {

template <auto kRelease>
struct Release {
  template <class T>
  void operator()(T* object) const {
    kRelease(object);
  }
};
using Compiler = std::unique_ptr<shaderc_compiler, Release<shaderc_compiler_release>>;
using Options = std::unique_ptr<shaderc_compile_options, Release<shaderc_compile_options_release>>;
using Result = std::unique_ptr<shaderc_compilation_result, Release<shaderc_result_release>>;

Status fail(const Log& log, Status status, const std::string& message) {
  if (log.callback != nullptr && log.minimum <= LogLevel::Error)
    log.callback(log.user, LogLevel::Error, message.c_str());
  return status;
}

// Returns the number after "#version", or 0 if there is none. Blanks may follow the #.
long version_of(const std::string& source) {
  for (size_t at = source.find('#'); at != std::string::npos; at = source.find('#', at + 1)) {
    const size_t word = source.find_first_not_of(" \t", at + 1);
    if (word != std::string::npos && source.compare(word, 7, "version") == 0)
      return std::strtol(source.c_str() + word + 7, nullptr, 10);
  }
  return 0;
}

}  // namespace

Status compile_glsl(std::string_view source, const GlslOptions& options, std::vector<uint32_t>* words) {
  if (words == nullptr) return fail(options.log, Status::InvalidArgument, "compile_glsl: words is null");
  const std::string name(options.name);
  // Version 310 is the oldest with compute shaders. For older ones (110 is the default) glslang writes thousands of lines to stdout.
  if (version_of(std::string(source)) < 310)
    return fail(options.log, Status::InvalidArgument,
                "compile_glsl: " + name + ":1: error: no #version with compute shaders, such as #version 450");
  const Compiler compiler(shaderc_compiler_initialize());
  const Options settings(shaderc_compile_options_initialize());
  if (compiler == nullptr || settings == nullptr)
    return fail(options.log, Status::OutOfMemory, "compile_glsl: shaderc cannot be started");
  shaderc_compile_options_set_target_env(settings.get(), shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_1);
  if (options.optimize)
    shaderc_compile_options_set_optimization_level(settings.get(), shaderc_optimization_level_performance);
  for (const GlslDefine& define : options.defines)
    shaderc_compile_options_add_macro_definition(settings.get(), define.name.data(), define.name.size(),
                                                 define.value.data(), define.value.size());
  const Result result(shaderc_compile_into_spv(compiler.get(), source.data(), source.size(),
                                               shaderc_glsl_compute_shader, name.c_str(), "main", settings.get()));
  if (result == nullptr) return fail(options.log, Status::OutOfMemory, "compile_glsl: " + name + ": no memory");
  if (shaderc_result_get_compilation_status(result.get()) != shaderc_compilation_status_success)
    return fail(options.log, Status::InvalidArgument,
                "compile_glsl: " + std::string(shaderc_result_get_error_message(result.get())));
  words->resize(shaderc_result_get_length(result.get()) / sizeof(uint32_t));
  std::memcpy(words->data(), shaderc_result_get_bytes(result.get()), words->size() * sizeof(uint32_t));
  return Status::Ok;
}

}  // namespace heed
