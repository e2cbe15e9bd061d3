#include "vulkan/pipelines/pipelines.hpp"

#include <algorithm>

#include "base/logging.hpp"
#include "vulkan/pipelines/cache_blob.hpp"
#include "vulkan/pipelines/pipeline_info.hpp"

namespace heed::vulkan {

Status Pipelines::create(std::span<const std::byte> blob, VkPipelineCache host_cache) {
  const Status status = create_layouts();
  if (status != Status::Ok || host_cache != VK_NULL_HANDLE) {
    cache_ = host_cache;
    return status;
  }
  auto info = structure<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  if (!blob.empty()) {
    const char* why = "";
    const std::span<const std::byte> data = open_cache_blob(blob, context_.physical.properties, &why);
    if (data.empty()) log(context_.log, LogLevel::Warning, format("pipeline cache is ignored: %s", why));
    info.initialDataSize = data.size();
    info.pInitialData = data.data();
  }
  owns_cache_ = true;
  return context_.check("vkCreatePipelineCache",
                        context_.vk.CreatePipelineCache(context_.device, &info, context_.allocator, &cache_));
}

Status Pipelines::create_layouts() {
  std::array<VkDescriptorSetLayoutBinding, kMaxBindings> bindings{};
  for (uint32_t i = 0; i < kMaxBindings; ++i)
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, kMaxPushBytes};
  for (uint32_t count = 1; count <= kMaxBindings; ++count) {
    auto set = structure<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
    set.bindingCount = count;
    set.pBindings = bindings.data();
    Status status = context_.check(
        "vkCreateDescriptorSetLayout",
        context_.vk.CreateDescriptorSetLayout(context_.device, &set, context_.allocator, &set_layouts_[count]));
    if (status != Status::Ok) return status;
    auto layout = structure<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &set_layouts_[count];
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &push;
    status = context_.check(
        "vkCreatePipelineLayout",
        context_.vk.CreatePipelineLayout(context_.device, &layout, context_.allocator, &layouts_[count]));
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

Pipelines::~Pipelines() {
  if (context_.hung) return;
  const Functions& vk = context_.vk;
  for (const auto& entry : entries_)
    if (entry->ready()) vk.DestroyPipeline(context_.device, entry->handle.load(), context_.allocator);
  for (VkPipelineLayout layout : layouts_)
    if (layout != VK_NULL_HANDLE) vk.DestroyPipelineLayout(context_.device, layout, context_.allocator);
  for (VkDescriptorSetLayout layout : set_layouts_)
    if (layout != VK_NULL_HANDLE) vk.DestroyDescriptorSetLayout(context_.device, layout, context_.allocator);
  if (owns_cache_ && cache_ != VK_NULL_HANDLE) vk.DestroyPipelineCache(context_.device, cache_, context_.allocator);
}

std::string Pipeline::name() const {
  std::string text = kernel_name(key);
  for (uint32_t i = 0; i < key.spec_count; ++i) text += format(i == 0 ? "(%u" : ",%u", key.spec[i]);
  return key.spec_count == 0 ? text : text + ")";
}

Pipeline* Pipelines::find(const KernelKey& key, uint32_t binding_count) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry->binding_count == binding_count && entry->key == key;
  });
  if (found != entries_.end()) return found->get();
  entries_.push_back(std::make_unique<Pipeline>(key, binding_count));
  return entries_.back().get();
}

Status Pipelines::build(Pipeline& pipeline) {
  if (pipeline.ready()) return Status::Ok;
  const std::lock_guard lock(pipeline.building);
  if (pipeline.ready()) return Status::Ok;
  VkPipeline handle = VK_NULL_HANDLE;
  const Status status = create_pipeline(pipeline.key, pipeline.binding_count, &handle);
  if (status == Status::Ok) pipeline.handle.store(handle, std::memory_order_release);
  return status;
}

Status Pipelines::create_module(const KernelKey& key, VkShaderModule* module) {
  std::vector<uint32_t> unpacked;
  std::span<const uint32_t> words;
  if (key.custom != nullptr) {
    words = key.custom->spirv;
  } else {
    const Status status = unpack(*kernel_info(key.id).module, &unpacked);
    if (status != Status::Ok) {
      log(context_.log, LogLevel::Error, format("unpacking %s: %s", kernel_name(key), to_string(status)));
      return status;
    }
    words = unpacked;
  }
  auto code = structure<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  code.codeSize = words.size_bytes();
  code.pCode = words.data();
  return context_.check(format("vkCreateShaderModule of %s", kernel_name(key)).c_str(),
                        context_.vk.CreateShaderModule(context_.device, &code, context_.allocator, module));
}

Status Pipelines::create_pipeline(const KernelKey& key, uint32_t binding_count, VkPipeline* pipeline) {
  VkShaderModule module = VK_NULL_HANDLE;
  Status status = create_module(key, &module);
  if (status != Status::Ok) return status;

  const char* entry_point = key.custom == nullptr ? "main" : key.custom->entry_point.c_str();
  const ComputePipelineInfo pipeline_info(key, entry_point, module, layouts_[binding_count],
                                          context_.physical.matrix_units.fixed_subgroup);
  status = context_.check(format("vkCreateComputePipelines of %s", kernel_name(key)).c_str(),
                          context_.vk.CreateComputePipelines(context_.device, cache_, 1, &pipeline_info.info,
                                                             context_.allocator, pipeline));
  context_.vk.DestroyShaderModule(context_.device, module, context_.allocator);
  if (status == Status::Ok) context_.name(VK_OBJECT_TYPE_PIPELINE, *pipeline, kernel_name(key));
  return status;
}

Status Pipelines::blob(std::vector<std::byte>* blob) {
  blob->clear();
  if (cache_ == VK_NULL_HANDLE) return Status::Ok;
  size_t bytes = 0;
  Status status = context_.check("vkGetPipelineCacheData",
                                 context_.vk.GetPipelineCacheData(context_.device, cache_, &bytes, nullptr));
  if (status != Status::Ok) return status;
  std::vector<std::byte> data(bytes);
  status = context_.check("vkGetPipelineCacheData",
                          context_.vk.GetPipelineCacheData(context_.device, cache_, &bytes, data.data()));
  if (status != Status::Ok) return status;
  data.resize(bytes);
  // Mesa 26.2's lavapipe caches nothing, and returns only 20 bytes of the standard header.
  if (data.size() >= sizeof(VkPipelineCacheHeaderVersionOne)) *blob = wrap_cache_blob(data);
  return Status::Ok;
}

}  // namespace heed::vulkan
