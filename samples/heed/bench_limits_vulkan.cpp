// Limits of a Vulkan device, measured without heed: multiply_add.comp and vkCmdCopyBuffer on a separate VkDevice.
#include <algorithm>
#include <chrono>
#include <vector>

#include "bench_limits.hpp"
#include "commands.hpp"

#ifdef HEED_BENCH_VULKAN
#include <vulkan/vulkan_core.h>

#if defined(_WIN32)
extern "C" __declspec(dllimport) void* __stdcall LoadLibraryA(const char*);
extern "C" __declspec(dllimport) void(__stdcall* __stdcall GetProcAddress(void*, const char*))();
#else
#include <dlfcn.h>
#endif

#include "multiply_add_spirv.hpp"

namespace heed::program {

namespace {

constexpr uint32_t kLocalSize = 64, kChains = 12, kStepsUnrolled = 16;  // as in multiply_add.comp
constexpr double kTargetSeconds = 0.02;                                 // far below any watchdog's limit
constexpr VkDeviceSize kCopyBytes = VkDeviceSize{64} << 20;             // more than most caches, and within every device's limits

struct Push {
  uint32_t steps;
  float factor, addend, never;
};

PFN_vkGetInstanceProcAddr find_loader() {
  const char* chosen = common_options().vulkan_loader.empty() ? nullptr : common_options().vulkan_loader.c_str();
#if defined(_WIN32)
  void* library = LoadLibraryA(chosen ? chosen : "vulkan-1.dll");
  if (!library) return nullptr;
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(GetProcAddress(library, "vkGetInstanceProcAddr"));
#else
  void* library = dlopen(chosen ? chosen : "libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
#endif
}

// clang-format off
#define HEED_INSTANCE_CALLS(X) \
  X(DestroyInstance) X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties) \
  X(GetPhysicalDeviceQueueFamilyProperties) X(GetPhysicalDeviceMemoryProperties) X(CreateDevice) \
  X(DestroyDevice) X(DeviceWaitIdle) X(GetDeviceQueue) X(CreateBuffer) X(DestroyBuffer) \
  X(GetBufferMemoryRequirements) X(AllocateMemory) X(FreeMemory) X(BindBufferMemory) X(CreateShaderModule) \
  X(DestroyShaderModule) X(CreateDescriptorSetLayout) X(DestroyDescriptorSetLayout) X(CreatePipelineLayout) \
  X(DestroyPipelineLayout) X(CreateComputePipelines) X(DestroyPipeline) X(CreateDescriptorPool) \
  X(DestroyDescriptorPool) X(AllocateDescriptorSets) X(UpdateDescriptorSets) X(CreateCommandPool) \
  X(DestroyCommandPool) X(AllocateCommandBuffers) X(BeginCommandBuffer) X(EndCommandBuffer) \
  X(CreateQueryPool) X(DestroyQueryPool) X(CmdResetQueryPool) X(CmdWriteTimestamp) X(GetQueryPoolResults) \
  X(CmdCopyBuffer) X(CmdBindPipeline) X(CmdBindDescriptorSets) X(CmdPushConstants) X(CmdDispatch) \
  X(QueueSubmit) X(QueueWaitIdle)
// clang-format on

// A device with one pipeline. Members are created in order and destroyed in reverse order; members that were never created are null.
class Rig {
 public:
  ~Rig() {
    if (device_) {
      vk_.DeviceWaitIdle(device_);
      vk_.DestroyQueryPool(device_, queries_, nullptr);
      vk_.DestroyCommandPool(device_, commands_, nullptr);
      vk_.DestroyDescriptorPool(device_, descriptors_, nullptr);
      vk_.DestroyPipeline(device_, pipeline_, nullptr);
      vk_.DestroyPipelineLayout(device_, layout_, nullptr);
      vk_.DestroyDescriptorSetLayout(device_, set_layout_, nullptr);
      vk_.DestroyShaderModule(device_, module_, nullptr);
      for (int i = 0; i < 2; ++i) {
        vk_.DestroyBuffer(device_, buffers_[i], nullptr);
        vk_.FreeMemory(device_, memory_[i], nullptr);
      }
      vk_.DestroyDevice(device_, nullptr);
    }
    if (instance_) vk_.DestroyInstance(instance_, nullptr);
  }

  // Each step returns null, or the name of the call that failed.
  const char* open(const DeviceInfo& info) {
    const char* failed = make_instance();
    if (!failed) failed = make_device(info);
    if (!failed) failed = make_buffer(0);
    if (!failed) failed = make_buffer(1);
    if (!failed) failed = make_pipeline();
    if (!failed) failed = make_descriptors();
    return failed ? failed : make_commands();
  }

  // Both return the seconds taken, or 0 if they failed.
  double multiply_add(uint32_t groups, uint32_t steps) {
    return time([&] {
      vk_.CmdBindPipeline(cmd_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
      vk_.CmdBindDescriptorSets(cmd_, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set_, 0, nullptr);
      const Push push = {steps, 0.999f, 0.001f, -1e30f};
      vk_.CmdPushConstants(cmd_, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
      vk_.CmdDispatch(cmd_, groups, 1, 1);
    });
  }
  double copy() {
    const VkBufferCopy region = {0, 0, kCopyBytes};
    return time([&] { vk_.CmdCopyBuffer(cmd_, buffers_[0], buffers_[1], 1, &region); });
  }

 private:
  template <class Record>
  double time(Record&& record) {
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    if (vk_.BeginCommandBuffer(cmd_, &begin) != VK_SUCCESS) return 0;
    if (queries_) vk_.CmdResetQueryPool(cmd_, queries_, 0, 2);
    if (queries_) vk_.CmdWriteTimestamp(cmd_, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries_, 0);
    record();
    if (queries_) vk_.CmdWriteTimestamp(cmd_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, 1);
    if (vk_.EndCommandBuffer(cmd_) != VK_SUCCESS) return 0;
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &cmd_};
    const auto start = std::chrono::steady_clock::now();
    if (vk_.QueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE) != VK_SUCCESS) return 0;
    if (vk_.QueueWaitIdle(queue_) != VK_SUCCESS) return 0;
    if (!queries_) return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    uint64_t ticks[2] = {};
    if (vk_.GetQueryPoolResults(device_, queries_, 0, 2, sizeof ticks, ticks, sizeof ticks[0],
                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT) != VK_SUCCESS)
      return 0;
    return static_cast<double>((ticks[1] - ticks[0]) & tick_mask_) * tick_nanoseconds_ * 1e-9;
  }

  const char* make_instance() {
    const PFN_vkGetInstanceProcAddr get = find_loader();
    if (!get) return "the Vulkan loader";
    const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .pApplicationName = "heed bench",
                                   .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
    if (!create || create(&info, nullptr, &instance_) != VK_SUCCESS) return "vkCreateInstance";
#define HEED_LOAD(name)                                                  \
  vk_.name = reinterpret_cast<PFN_vk##name>(get(instance_, "vk" #name)); \
  if (!vk_.name) return "vk" #name;
    HEED_INSTANCE_CALLS(HEED_LOAD)
#undef HEED_LOAD
    return nullptr;
  }

  // Makes a device for the physical device of this name, with its first queue family that computes.
  const char* make_device(const DeviceInfo& info) {
    uint32_t count = 0;
    vk_.EnumeratePhysicalDevices(instance_, &count, nullptr);
    std::vector<VkPhysicalDevice> all(count);
    vk_.EnumeratePhysicalDevices(instance_, &count, all.data());
    VkPhysicalDeviceProperties properties;
    for (VkPhysicalDevice candidate : all) {
      vk_.GetPhysicalDeviceProperties(candidate, &properties);
      if (info.name != properties.deviceName) continue;
      physical_ = candidate;
      break;
    }
    if (!physical_) return "the physical device";
    tick_nanoseconds_ = static_cast<double>(properties.limits.timestampPeriod);

    vk_.GetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vk_.GetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
    const auto compute = std::find_if(families.begin(), families.end(), [](const VkQueueFamilyProperties& family) {
      return (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
    });
    if (compute == families.end()) return "a compute queue";
    family_ = static_cast<uint32_t>(compute - families.begin());
    const uint32_t bits = compute->timestampValidBits;
    tick_mask_ = bits >= 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;

    const float priority = 1.0f;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = family_,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
    if (vk_.CreateDevice(physical_, &create, nullptr, &device_) != VK_SUCCESS) return "vkCreateDevice";
    vk_.GetDeviceQueue(device_, family_, 0, &queue_);
    return nullptr;
  }

  const char* make_buffer(int i) {
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = kCopyBytes,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    if (vk_.CreateBuffer(device_, &info, nullptr, &buffers_[i]) != VK_SUCCESS) return "vkCreateBuffer";
    VkMemoryRequirements needs;
    vk_.GetBufferMemoryRequirements(device_, buffers_[i], &needs);
    VkPhysicalDeviceMemoryProperties memory;
    vk_.GetPhysicalDeviceMemoryProperties(physical_, &memory);
    const auto fits = [&](uint32_t type, VkMemoryPropertyFlags flags) {
      return (needs.memoryTypeBits & (1u << type)) && (memory.memoryTypes[type].propertyFlags & flags) == flags;
    };
    uint32_t type = 0;
    while (type < memory.memoryTypeCount && !fits(type, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)) ++type;
    if (type == memory.memoryTypeCount) return "the search for device memory";
    const VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
    if (vk_.AllocateMemory(device_, &allocate, nullptr, &memory_[i]) != VK_SUCCESS) return "vkAllocateMemory";
    return vk_.BindBufferMemory(device_, buffers_[i], memory_[i], 0) == VK_SUCCESS ? nullptr : "vkBindBufferMemory";
  }

  const char* make_pipeline() {
    const VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                             .codeSize = sizeof kMultiplyAddSpirv,
                                             .pCode = kMultiplyAddSpirv};
    if (vk_.CreateShaderModule(device_, &module, nullptr, &module_) != VK_SUCCESS) return "vkCreateShaderModule";
    const VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                  .descriptorCount = 1,
                                                  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
    if (vk_.CreateDescriptorSetLayout(device_, &set, nullptr, &set_layout_) != VK_SUCCESS)
      return "vkCreateDescriptorSetLayout";
    const VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = sizeof(Push)};
    const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &set_layout_,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &range};
    if (vk_.CreatePipelineLayout(device_, &layout, nullptr, &layout_) != VK_SUCCESS) return "vkCreatePipelineLayout";
    const VkComputePipelineCreateInfo pipeline = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module_,
                  .pName = "main"},
        .layout = layout_};
    const VkResult made = vk_.CreateComputePipelines(device_, VK_NULL_HANDLE, 1, &pipeline, nullptr, &pipeline_);
    return made == VK_SUCCESS ? nullptr : "vkCreateComputePipelines";
  }

  const char* make_descriptors() {
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    if (vk_.CreateDescriptorPool(device_, &pool, nullptr, &descriptors_) != VK_SUCCESS) return "vkCreateDescriptorPool";
    const VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                                  .descriptorPool = descriptors_,
                                                  .descriptorSetCount = 1,
                                                  .pSetLayouts = &set_layout_};
    if (vk_.AllocateDescriptorSets(device_, &allocate, &set_) != VK_SUCCESS) return "vkAllocateDescriptorSets";
    const VkDescriptorBufferInfo buffer = {buffers_[0], 0, VK_WHOLE_SIZE};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = set_,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &buffer};
    vk_.UpdateDescriptorSets(device_, 1, &write, 0, nullptr);
    return nullptr;
  }

  const char* make_commands() {
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = family_};
    if (vk_.CreateCommandPool(device_, &pool, nullptr, &commands_) != VK_SUCCESS) return "vkCreateCommandPool";
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = commands_,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                  .commandBufferCount = 1};
    if (vk_.AllocateCommandBuffers(device_, &allocate, &cmd_) != VK_SUCCESS) return "vkAllocateCommandBuffers";
    if (tick_mask_ == 0) return nullptr;  // without timestamps the clock around the submission is used
    const VkQueryPoolCreateInfo queries = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 2};
    return vk_.CreateQueryPool(device_, &queries, nullptr, &queries_) == VK_SUCCESS ? nullptr : "vkCreateQueryPool";
  }

  struct Calls {
#define HEED_MEMBER(name) PFN_vk##name name = nullptr;
    HEED_INSTANCE_CALLS(HEED_MEMBER)
#undef HEED_MEMBER
  } vk_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_[2] = {};
  VkBuffer buffers_[2] = {};
  VkShaderModule module_ = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
  VkCommandPool commands_ = VK_NULL_HANDLE;
  VkCommandBuffer cmd_ = VK_NULL_HANDLE;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  uint32_t family_ = 0;
  uint64_t tick_mask_ = 0;
  double tick_nanoseconds_ = 1;
};

constexpr int kRounds = 5;

double best_multiply_add(Rig& rig) {
  constexpr uint32_t kGroups = 8192, kMostSteps = 1u << 18;
  // Doubles the work until the launch time is negligible, then returns the best of a few runs.
  uint32_t steps = 2;
  double seconds = rig.multiply_add(kGroups, steps);
  while (seconds > 0 && seconds < kTargetSeconds / 2 && steps < kMostSteps)
    seconds = rig.multiply_add(kGroups, steps *= 2);
  for (int i = 0; i < kRounds && seconds > 0; ++i) {
    const double again = rig.multiply_add(kGroups, steps);
    if (again > 0) seconds = std::min(seconds, again);
  }
  const double count = 2.0 * kGroups * kLocalSize * kChains * kStepsUnrolled * static_cast<double>(steps);
  return seconds > 0 ? count / seconds * 1e-9 : 0;
}

double best_copy(Rig& rig) {
  double best = 0;
  for (int i = 0; i < kRounds; ++i) {
    const double seconds = rig.copy();
    if (seconds > 0) best = std::max(best, 2.0 * static_cast<double>(kCopyBytes) / seconds * 1e-9);
  }
  return best;
}

}  // namespace

Limits vulkan_limits(const DeviceInfo& info) {
  Limits limits;
  limits.gflops_how = "multiply-add shader";
  limits.gigabytes_how = "vkCmdCopyBuffer of 64 MiB";
  Rig rig;
  if (const char* failed = rig.open(info)) {
    limits.why = std::string(failed) + " failed";
    return limits;
  }
  limits.gflops = best_multiply_add(rig);
  limits.gigabytes = best_copy(rig);
  if (limits.gflops <= 0 || limits.gigabytes <= 0) limits.why = "a submission failed";
  return limits;
}

}  // namespace heed::program

#else  // without Vulkan there are no Vulkan devices

namespace heed::program {
Limits vulkan_limits(const DeviceInfo&) {
  Limits limits;
  limits.why = "this program was built without Vulkan";
  return limits;
}
}  // namespace heed::program

#endif
