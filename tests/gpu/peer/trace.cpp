#include "trace.hpp"

#include <cinttypes>
#include <cstdlib>
#include <cstring>

namespace heed::peer {
namespace {

void write_file(const std::string& name, const void* data, size_t bytes) {
  std::FILE* file = std::fopen(name.c_str(), "wb");
  if (file == nullptr) return;
  std::fwrite(data, 1, bytes, file);
  std::fclose(file);
}

}  // namespace

Trace::Trace() {
  const char* folder = std::getenv("HEED_PEER_TRACE");
  folder_ = folder != nullptr ? folder : ".";
  out_ = std::fopen((folder_ + "/trace").c_str(), "w");
  if (out_ == nullptr) std::abort();
}

std::string Trace::file(const char* name, uint32_t number) const {
  return folder_ + "/" + name + "-" + std::to_string(number);
}

void Trace::add_module(VkShaderModule module, const VkShaderModuleCreateInfo& info) {
  const std::scoped_lock lock(mutex_);
  modules_[module].assign(info.pCode, info.pCode + info.codeSize / 4);
}

void Trace::add_pipeline(VkPipeline pipeline, const VkComputePipelineCreateInfo& info) {
  const std::scoped_lock lock(mutex_);
  const auto number = static_cast<uint32_t>(pipelines_.size());
  pipelines_[pipeline] = number;
  const std::vector<uint32_t>& words = modules_[info.stage.module];
  write_file(file("pipeline", number), words.data(), words.size() * 4);
  uint32_t subgroup = 0;
  for (auto* next = static_cast<const VkBaseInStructure*>(info.stage.pNext); next != nullptr; next = next->pNext)
    if (next->sType == VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO)
      subgroup =
          reinterpret_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo*>(next)->requiredSubgroupSize;
  std::fprintf(out_, "pipeline %u %u", number, subgroup);
  if (const VkSpecializationInfo* constants = info.stage.pSpecializationInfo)
    for (uint32_t i = 0; i < constants->mapEntryCount; ++i) {
      const VkSpecializationMapEntry& entry = constants->pMapEntries[i];
      uint32_t value = 0;
      std::memcpy(&value, static_cast<const std::byte*>(constants->pData) + entry.offset,
                  entry.size < 4 ? entry.size : 4);
      std::fprintf(out_, " %u=%u", entry.constantID, value);
    }
  std::fprintf(out_, "\n");
}

void Trace::add_memory(VkDeviceMemory memory, void* mapped) {
  const std::scoped_lock lock(mutex_);
  mapped_[memory] = static_cast<const std::byte*>(mapped);
}

void Trace::add_buffer(VkBuffer buffer, VkDeviceSize bytes) {
  const std::scoped_lock lock(mutex_);
  const auto number = static_cast<uint32_t>(buffers_.size());
  buffers_[buffer] = {number, bytes};
}

void Trace::place_buffer(VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset) {
  const std::scoped_lock lock(mutex_);
  buffers_[buffer].memory = memory;
  buffers_[buffer].offset = offset;
}

void Trace::write_set(const VkWriteDescriptorSet& write) {
  const std::scoped_lock lock(mutex_);
  for (uint32_t i = 0; i < write.descriptorCount && write.pBufferInfo != nullptr; ++i)
    sets_[write.dstSet][write.dstBinding + i + write.dstArrayElement] = write.pBufferInfo[i];
}

void Trace::bind_pipeline(VkCommandBuffer commands, VkPipeline pipeline) {
  const std::scoped_lock lock(mutex_);
  commands_[commands].pipeline = pipelines_[pipeline];
}

void Trace::bind_set(VkCommandBuffer commands, VkDescriptorSet set) {
  const std::scoped_lock lock(mutex_);
  commands_[commands].set = set;
}

void Trace::push(VkCommandBuffer commands, uint32_t offset, uint32_t bytes, const void* data) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::byte>& all = commands_[commands].push;
  all.resize(offset + bytes);
  std::memcpy(all.data() + offset, data, bytes);
}

// Describes a buffer at its first use, with the contents that the program has written so far.
void Trace::tell(Buffer& buffer) {
  if (buffer.is_told) return;
  buffer.is_told = true;
  std::fprintf(out_, "buffer %u %" PRIu64 "\n", buffer.number, buffer.bytes);
  const auto mapped = mapped_.find(buffer.memory);
  if (mapped != mapped_.end() && mapped->second != nullptr)
    write_file(file("buffer", buffer.number), mapped->second + buffer.offset, buffer.bytes);
}

void Trace::dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  const std::scoped_lock lock(mutex_);
  const Commands& now = commands_[commands];
  const auto& bindings = sets_[now.set];
  for (const auto& [number, binding] : bindings) tell(buffers_[binding.buffer]);
  std::fprintf(out_, "dispatch %u %u %u %u ", now.pipeline, x, y, z);
  for (const std::byte byte : now.push) std::fprintf(out_, "%02x", static_cast<unsigned>(byte));
  if (now.push.empty()) std::fprintf(out_, "-");
  for (const auto& [number, binding] : bindings) {
    const Buffer& buffer = buffers_[binding.buffer];
    const VkDeviceSize range = binding.range == VK_WHOLE_SIZE ? buffer.bytes - binding.offset : binding.range;
    std::fprintf(out_, " %u:%u:%" PRIu64 ":%" PRIu64, number, buffer.number, binding.offset, range);
  }
  std::fprintf(out_, "\n");
  std::fflush(out_);
}

void Trace::barrier() {
  const std::scoped_lock lock(mutex_);
  std::fprintf(out_, "barrier\n");
}

}  // namespace heed::peer
