#include "gpu/compiler.hpp"

#include <cstdio>
#include <vector>

#include "kernels/kernel_table.hpp"
#include "vulkan/pipelines/pipeline_info.hpp"

namespace heed::gpu_tests {

using vulkan::structure;

namespace {

constexpr VkPipelineCreateFlags kCapture =
    VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR | VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;

double number(const VkPipelineExecutableStatisticKHR& statistic) {
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR: return statistic.value.b32;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR: return static_cast<double>(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR: return static_cast<double>(statistic.value.u64);
    default: return statistic.value.f64;
  }
}

bool failed(const char* what, const char* kernel) {
  std::fprintf(stderr, "%s: %s failed\n", kernel, what);
  return false;
}

// Destroys a handle at the end of a scope.
template <class Handle, class Destroy>
class Owned {
 public:
  Owned(VkDevice device, Destroy destroy) : device_(device), destroy_(destroy) {}
  ~Owned() {
    if (handle != VK_NULL_HANDLE) destroy_(device_, handle, nullptr);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle handle = VK_NULL_HANDLE;

 private:
  VkDevice device_;
  Destroy destroy_;
};

}  // namespace

std::unique_ptr<Compiler> Compiler::open() {
  std::unique_ptr<Compiler> compiler(new Compiler);
  compiler->instance_ = vulkan::Instance::create({.log = stderr_log()});
  if (compiler->instance_ == nullptr) return nullptr;
  const auto devices = compiler->instance_->physical_devices();
  if (devices.size() != 1) {
    std::fprintf(stderr, "the driver has %zu devices, where one is expected\n", devices.size());
    return nullptr;
  }
  compiler->vk_ = compiler->instance_->functions();
  compiler->physical_ = vulkan::read_physical_device(compiler->vk_, devices[0], compiler->instance_->api_version());
  compiler->capabilities_ = vulkan::capabilities_of(compiler->physical_);
  return compiler->create_device() ? std::move(compiler) : nullptr;
}

bool Compiler::create_device() {
  const float priority = 0.5f;
  auto queue = structure<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = vulkan::choose_queue_family(physical_.queue_families);
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  vulkan::MatrixNeeds needs = vulkan::matrix_needs(capabilities_);
  vulkan::Features& wanted = needs.features;
  wanted.storageBuffer16BitAccess = physical_.features.storageBuffer16BitAccess;
  vulkan::FeatureChain features(wanted);
  auto executable = structure<VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR, features.first());
  executable.pipelineExecutableInfo = VK_TRUE;
  std::vector<const char*>& extensions = needs.extensions;
  extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  auto info = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &executable);
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  if (vk_.CreateDevice(physical_.handle, &info, nullptr, &device_) != VK_SUCCESS)
    return failed("vkCreateDevice with VK_KHR_pipeline_executable_properties", physical_.properties.deviceName);
  if (const char* missing = vulkan::load_device_functions(device_, &vk_)) return failed(missing, "device");
  const auto load = [&](const char* name) { return vk_.GetDeviceProcAddr(device_, name); };
  get_executables_ =
      reinterpret_cast<PFN_vkGetPipelineExecutablePropertiesKHR>(load("vkGetPipelineExecutablePropertiesKHR"));
  get_statistics_ =
      reinterpret_cast<PFN_vkGetPipelineExecutableStatisticsKHR>(load("vkGetPipelineExecutableStatisticsKHR"));
  get_representations_ = reinterpret_cast<PFN_vkGetPipelineExecutableInternalRepresentationsKHR>(
      load("vkGetPipelineExecutableInternalRepresentationsKHR"));
  return get_executables_ != nullptr && get_statistics_ != nullptr && get_representations_ != nullptr;
}

Compiler::~Compiler() {
  if (device_ != VK_NULL_HANDLE) vk_.DestroyDevice(device_, nullptr);
}

bool Compiler::compile(const KernelKey& key, const Shader& shader, Compiled* result) {
  Owned<VkShaderModule, PFN_vkDestroyShaderModule> module(device_, vk_.DestroyShaderModule);
  Owned<VkDescriptorSetLayout, PFN_vkDestroyDescriptorSetLayout> set(device_, vk_.DestroyDescriptorSetLayout);
  Owned<VkPipelineLayout, PFN_vkDestroyPipelineLayout> layout(device_, vk_.DestroyPipelineLayout);
  Owned<VkPipeline, PFN_vkDestroyPipeline> pipeline(device_, vk_.DestroyPipeline);

  auto code = structure<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  code.codeSize = shader.words.size_bytes();
  code.pCode = shader.words.data();
  if (vk_.CreateShaderModule(device_, &code, nullptr, &module.handle) != VK_SUCCESS)
    return failed("vkCreateShaderModule", shader.name);

  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < shader.binding_count; ++i)
    bindings.push_back({i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  auto sets = structure<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  sets.bindingCount = shader.binding_count;
  sets.pBindings = bindings.data();
  if (vk_.CreateDescriptorSetLayout(device_, &sets, nullptr, &set.handle) != VK_SUCCESS)
    return failed("vkCreateDescriptorSetLayout", shader.name);
  const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, kMaxPushBytes};
  auto layouts = structure<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layouts.setLayoutCount = 1;
  layouts.pSetLayouts = &set.handle;
  layouts.pushConstantRangeCount = 1;
  layouts.pPushConstantRanges = &push;
  if (vk_.CreatePipelineLayout(device_, &layouts, nullptr, &layout.handle) != VK_SUCCESS)
    return failed("vkCreatePipelineLayout", shader.name);

  vulkan::ComputePipelineInfo wanted(key, "main", module.handle, layout.handle, physical_.matrix_units.fixed_subgroup);
  wanted.info.flags |= kCapture;
  if (vk_.CreateComputePipelines(device_, VK_NULL_HANDLE, 1, &wanted.info, nullptr, &pipeline.handle) != VK_SUCCESS)
    return failed("vkCreateComputePipelines", shader.name);
  return read(pipeline.handle, result) || failed("vkGetPipelineExecutable...", shader.name);
}

bool Compiler::read(VkPipeline pipeline, Compiled* result) {
  auto which = structure<VkPipelineInfoKHR>(VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR);
  which.pipeline = pipeline;
  uint32_t count = 1;
  auto first = structure<VkPipelineExecutablePropertiesKHR>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR);
  if (get_executables_(device_, &which, &count, &first) < 0 || count == 0) return false;
  result->statistics["Subgroup size"] = first.subgroupSize;
  auto executable = structure<VkPipelineExecutableInfoKHR>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR);
  executable.pipeline = pipeline;  // a compute pipeline has one executable: number 0

  if (get_statistics_(device_, &executable, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkPipelineExecutableStatisticKHR> statistics(
      count, structure<VkPipelineExecutableStatisticKHR>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR));
  if (get_statistics_(device_, &executable, &count, statistics.data()) != VK_SUCCESS) return false;
  for (const auto& statistic : statistics) result->statistics[statistic.name] = number(statistic);

  using Representation = VkPipelineExecutableInternalRepresentationKHR;
  if (get_representations_(device_, &executable, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<Representation> texts(
      count, structure<Representation>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR));
  if (get_representations_(device_, &executable, &count, texts.data()) != VK_SUCCESS) return false;
  std::vector<std::string> data(count);
  for (uint32_t i = 0; i < count; ++i) {
    data[i].resize(texts[i].dataSize);
    texts[i].pData = data[i].data();
  }
  if (get_representations_(device_, &executable, &count, texts.data()) != VK_SUCCESS) return false;
  for (uint32_t i = 0; i < count; ++i)
    if (texts[i].isText == VK_TRUE) result->texts[texts[i].name] = data[i].c_str();
  return true;
}

}  // namespace heed::gpu_tests
