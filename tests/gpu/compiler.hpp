// Compiles kernels with a driver and reads its statistics and listings (VK_KHR_pipeline_executable_properties).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "harness/kernel_words.hpp"
#include "kernels/dispatch.hpp"
#include "vulkan/probe/capabilities.hpp"
#include "vulkan/probe/instance.hpp"

namespace heed::gpu_tests {

// Statistics and listings of a pipeline, by the driver's names.
struct Compiled {
  std::map<std::string, double> statistics;
  std::map<std::string, std::string> texts;

  double statistic(const char* name) const {
    const auto found = statistics.find(name);
    return found == statistics.end() ? 0.0 : found->second;
  }
  // The assembly, if the driver prints it.
  std::string listing() const {
    std::string all;
    for (const auto& [name, text] : texts)
      if (name.ends_with("ssembly")) all += text;
    return all;
  }
  std::string text(const char* name) const {
    const auto found = texts.find(name);
    return found == texts.end() ? std::string() : found->second;
  }
};

// SPIR-V whose entry point is "main".
struct Shader {
  const char* name;
  std::span<const uint32_t> words;
  uint32_t binding_count;
};

// The driver's only device. It only creates pipelines, and so works without such a GPU.
class Compiler {
 public:
  // Returns null, with the reason on stderr.
  static std::unique_ptr<Compiler> open();
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  const vulkan::PhysicalDevice& physical() const { return physical_; }
  const Capabilities& capabilities() const { return capabilities_; }
  // Chooses kernels from now on as for NVIDIA's own driver and a GPU with so many cores.
  void pretend_nvidia(uint32_t cores) {
    capabilities_.cores = cores;
    capabilities_.core_registers = 65536;  // as vulkan::capabilities_of returns it for that driver
  }
  // Returns false, with the reason on stderr, if the driver does not compile the kernel.
  bool compile(const KernelKey& key, Compiled* result) {
    const KernelInfo& info = kernel_info(key.id);
    return compile(key, {info.name, kernel_words(key.id), info.binding_count}, result);
  }
  // The same for other SPIR-V, with the constants and subgroup size of a key.
  bool compile(const KernelKey& key, const Shader& shader, Compiled* result);

 private:
  Compiler() = default;
  bool create_device();
  bool read(VkPipeline pipeline, Compiled* result);

  std::unique_ptr<vulkan::Instance> instance_;
  vulkan::Functions vk_;
  vulkan::PhysicalDevice physical_;
  Capabilities capabilities_;
  VkDevice device_ = VK_NULL_HANDLE;
  PFN_vkGetPipelineExecutablePropertiesKHR get_executables_ = nullptr;
  PFN_vkGetPipelineExecutableStatisticsKHR get_statistics_ = nullptr;
  PFN_vkGetPipelineExecutableInternalRepresentationsKHR get_representations_ = nullptr;
};

}  // namespace heed::gpu_tests
