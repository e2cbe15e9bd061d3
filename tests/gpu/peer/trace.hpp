// Writes down the objects and dispatches of a program, as lines of text in one file:
//
//   buffer NUMBER BYTES                its contents, if the program could write them, are in buffer-NUMBER
//   pipeline NUMBER SUBGROUP ID=VALUE...    its SPIR-V is in pipeline-NUMBER; subgroup 0: any size
//   barrier                            orders the commands before it before those after it
//   dispatch PIPELINE X Y Z PUSH BINDING:BUFFER:OFFSET:RANGE...   PUSH: push constants, two digits a byte, or "-"
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace heed::peer {

// The process has one; any thread may call it.
class Trace {
 public:
  Trace();

  void add_module(VkShaderModule module, const VkShaderModuleCreateInfo& info);
  void add_pipeline(VkPipeline pipeline, const VkComputePipelineCreateInfo& info);
  void add_memory(VkDeviceMemory memory, void* mapped);
  void add_buffer(VkBuffer buffer, VkDeviceSize bytes);
  void place_buffer(VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset);
  void write_set(const VkWriteDescriptorSet& write);

  // Commands, in the order of recording, which must be the order of execution.
  void bind_pipeline(VkCommandBuffer commands, VkPipeline pipeline);
  void bind_set(VkCommandBuffer commands, VkDescriptorSet set);
  void push(VkCommandBuffer commands, uint32_t offset, uint32_t bytes, const void* data);
  void dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z);
  void barrier();

 private:
  struct Buffer {
    uint32_t number = 0;
    VkDeviceSize bytes = 0, offset = 0;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    bool is_told = false;
  };
  struct Commands {
    uint32_t pipeline = 0;
    VkDescriptorSet set = VK_NULL_HANDLE;
    std::vector<std::byte> push;
  };
  std::string file(const char* name, uint32_t number) const;
  void tell(Buffer& buffer);

  std::mutex mutex_;
  std::string folder_;
  std::FILE* out_ = nullptr;
  std::map<VkShaderModule, std::vector<uint32_t>> modules_;
  std::map<VkPipeline, uint32_t> pipelines_;
  std::map<VkDeviceMemory, const std::byte*> mapped_;
  std::map<VkBuffer, Buffer> buffers_;
  std::map<VkDescriptorSet, std::map<uint32_t, VkDescriptorBufferInfo>> sets_;
  std::map<VkCommandBuffer, Commands> commands_;
};

}  // namespace heed::peer
