// A host that serves heed's memory itself: many buffers share one VkDeviceMemory, at offsets that the host chooses.

#include "harness/catch.hpp"
#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

// A fault of the pool, which heed must detect.
enum class Fault { None, Misaligned, WrongType, Unmapped, Null };

// Has one large allocation for each memory type and cuts it from front to back. Blocks are adjacent, as far as alignment allows. No memory
// is reused, so that a use of freed memory would show.
class Pool {
 public:
  Pool(HostVulkan& host) : host_(host) {}
  ~Pool() {
    for (const Chunk& chunk : chunks_)
      if (chunk.memory != VK_NULL_HANDLE) host_.vk().FreeMemory(host_.device(), chunk.memory, nullptr);
  }
  vulkan::MemoryAllocator allocator() {
    return {[](void* user, const vulkan::MemoryRequest& request, vulkan::MemoryBlock* block) {
              return static_cast<Pool*>(user)->allocate(request, block);
            },
            [](void* user, const vulkan::MemoryBlock& block) { static_cast<Pool*>(user)->free(block); }, this};
  }

  uint32_t blocks = 0, served = 0;
  uint32_t fail_at = 0;  // makes the n-th request fail; 0: none
  Fault fault = Fault::None;
  std::string names;

 private:
  static constexpr VkDeviceSize kChunk = 4 << 20;
  struct Chunk {
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::byte* mapped = nullptr;
    VkDeviceSize used = 4;  // the first block does not start at 0
  };

  VkResult allocate(const vulkan::MemoryRequest& request, vulkan::MemoryBlock* block) {
    if (++served == fail_at) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    CHECK(request.requirements.memoryTypeBits != 0);
    CHECK(request.buffer != VK_NULL_HANDLE);
    names += std::string(request.name) + ";";
    const uint32_t type = choose(request);
    Chunk& chunk = chunks_[type];
    if (chunk.memory == VK_NULL_HANDLE) create(type, request.required, &chunk);
    const VkDeviceSize alignment = request.requirements.alignment;
    const VkDeviceSize at = (chunk.used + alignment - 1) / alignment * alignment;
    REQUIRE(at + request.requirements.size <= kChunk);
    chunk.used = at + request.requirements.size;
    ++blocks;
    *block = {chunk.memory, at, type, chunk.mapped == nullptr ? nullptr : chunk.mapped + at, new VkDeviceSize(at)};
    return spoil(block);
  }
  VkResult spoil(vulkan::MemoryBlock* block) const {
    if (fault == Fault::Misaligned) block->offset += 1;
    if (fault == Fault::WrongType) block->memory_type = 31;
    if (fault == Fault::Unmapped) block->mapped = nullptr;
    if (fault == Fault::Null) block->memory = VK_NULL_HANDLE;
    return VK_SUCCESS;
  }
  void free(const vulkan::MemoryBlock& block) {
    --blocks;
    auto* at = static_cast<VkDeviceSize*>(block.token);
    if (fault == Fault::None) CHECK(*at == block.offset);
    delete at;
  }
  uint32_t choose(const vulkan::MemoryRequest& request) const {
    VkPhysicalDeviceMemoryProperties memory = {};
    host_.vk().GetPhysicalDeviceMemoryProperties(host_.host_device().physical_device, &memory);
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
      const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
      if ((request.requirements.memoryTypeBits >> i & 1u) == 0 || (flags & request.required) != request.required)
        continue;
      if (best == UINT32_MAX || (flags & request.preferred) == request.preferred) best = i;
    }
    REQUIRE(best != UINT32_MAX);
    return best;
  }
  void create(uint32_t type, VkMemoryPropertyFlags required, Chunk* chunk) {
    auto info = vulkan::structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    info.allocationSize = kChunk;
    info.memoryTypeIndex = type;
    REQUIRE(host_.vk().AllocateMemory(host_.device(), &info, nullptr, &chunk->memory) == VK_SUCCESS);
    VkPhysicalDeviceMemoryProperties memory = {};
    host_.vk().GetPhysicalDeviceMemoryProperties(host_.host_device().physical_device, &memory);
    const VkMemoryPropertyFlags flags = memory.memoryTypes[type].propertyFlags | required;
    if ((flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) == 0) return;
    void* address = nullptr;
    REQUIRE(host_.vk().MapMemory(host_.device(), chunk->memory, 0, VK_WHOLE_SIZE, 0, &address) == VK_SUCCESS);
    chunk->mapped = static_cast<std::byte*>(address);
  }

  HostVulkan& host_;
  Chunk chunks_[VK_MAX_MEMORY_TYPES];
};

// Uses every kind of memory: weights, a constant, scratch, fault words, timestamps and the host buffers of run.
Status whole_life(const vulkan::HostDevice& host, bool timestamps, std::vector<float>* y) {
  Device device;
  Weights weights;
  Plan plan;
  Status status = vulkan::adopt(host, &device);
  if (status == Status::Ok) status = device.upload(small_weights().list(), &weights);
  if (status == Status::Ok) status = device.compile(small_graph(), weights, &plan, {.timestamps = timestamps});
  const std::vector<int32_t> ids = {4, 0, 2};
  y->assign(12, 0.0f);
  return status == Status::Ok ? plan.run({{"ids", ids}, {"y", *y}}) : status;
}

}  // namespace

TEST_CASE("allocator: all memory comes from the host's, and goes back", "[vulkan][allocator]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  for (const bool discrete : {false, true}) {
    pretend({.discrete = discrete, .non_coherent = discrete});
    std::vector<float> want, got;
    REQUIRE(whole_life(host->host_device(), host->has_timestamps(), &want) == Status::Ok);
    Pool pool(*host);
    vulkan::HostDevice with = host->host_device();
    with.memory = pool.allocator();
    reset_calls();
    REQUIRE(whole_life(with, host->has_timestamps(), &got) == Status::Ok);
    CHECK(got == want);
    CHECK(calls("AllocateMemory") == 0);
    CHECK(calls("MapMemory") == 0);
    CHECK(calls("FreeMemory") == 0);
    CHECK(calls("CreateBuffer") == pool.served);
    CHECK(pool.served >= 6);
    CHECK(pool.blocks == 0);
    for (const char* name :
         {"weights;", "upload staging;", "scratch;", "constants;", "faults;", "run inputs and outputs;"})
      CHECK_THAT(pool.names, holds(name));
    CHECK(live_objects() == "");
    CHECK(host->take_log() == "");
    CHECK(host->take_validation() == "");
  }
}

TEST_CASE("allocator: each request fails in turn, and leaves nothing behind", "[vulkan][allocator][failure]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Pool pool(*host);
  vulkan::HostDevice with = host->host_device();
  with.memory = pool.allocator();
  std::vector<float> y;
  uint32_t failures = 0;
  for (uint32_t request = 1;; ++request) {
    pool.fail_at = request;
    pool.served = 0;
    const Status status = whole_life(with, host->has_timestamps(), &y);
    if (pool.served < request) {
      CHECK(status == Status::Ok);
      break;
    }
    ++failures;
    CHECK(status == Status::OutOfDeviceMemory);
    const std::string text = host->take_log();
    INFO(text);
    CHECK_THAT(text, holds("the host's allocator, asked for"));
    CHECK_THAT(text, holds("VK_ERROR_OUT_OF_DEVICE_MEMORY"));
    REQUIRE(pool.blocks == 0);
    REQUIRE(live_objects() == "");
    REQUIRE(host->host_blocks() == 0);
  }
  CHECK(failures >= 6);
}

TEST_CASE("allocator: blocks that do not keep to the request are refused and given back", "[vulkan][allocator]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Pool pool(*host);
  vulkan::HostDevice with = host->host_device();
  with.memory = pool.allocator();
  struct Row {
    Fault fault;
    const char* text;
  };
  const Row rows[] = {{Fault::Misaligned, "no multiple of"},
                      {Fault::WrongType, "memory type 31"},
                      {Fault::Unmapped, "not mapped for upload staging"},
                      {Fault::Null, "no VkDeviceMemory for weights"}};
  for (const Row& row : rows) {
    pool.fault = row.fault;
    std::vector<float> y;
    CHECK(whole_life(with, false, &y) == Status::InvalidArgument);
    const std::string text = host->take_log();
    INFO(text);
    CHECK_THAT(text, holds(row.text));
    CHECK(pool.blocks == 0);
    CHECK(live_objects() == "");
  }
  with.memory.free = nullptr;
  Device device;
  host->refused(vulkan::adopt(with, &device), Status::InvalidArgument, "memory.free is null");
}
