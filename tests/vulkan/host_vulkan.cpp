#include "vulkan/host_vulkan.hpp"

#include "harness/catch.hpp"
#include "vulkan/call_counter.hpp"
#include "vulkan/calls/loader.hpp"
#include "vulkan/probe/capabilities.hpp"
#include "vulkan/probe/layer_settings.hpp"

namespace heed::test {
namespace {

using vulkan::structure;

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT types,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  if (types == VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT) return VK_FALSE;
  const char* id = data->pMessageIdName != nullptr ? data->pMessageIdName : "";
  *static_cast<std::string*>(user) += std::string(id) + ": " + data->pMessage + "\n";
  return VK_FALSE;
}

struct Counters {
  int64_t* blocks;
  uint64_t* allocations;
};

// malloc with room for the alignment, and the size in front of the block.
struct Prefix {
  void* base;
  size_t size;
};

void* VKAPI_CALL allocate_block(void* user, size_t size, size_t alignment, VkSystemAllocationScope) {
  auto* counters = static_cast<Counters*>(user);
  alignment = std::max(alignment, alignof(Prefix));
  void* base = std::malloc(size + alignment + sizeof(Prefix));
  if (base == nullptr) return nullptr;
  const uintptr_t at = (reinterpret_cast<uintptr_t>(base) + sizeof(Prefix) + alignment - 1) / alignment * alignment;
  reinterpret_cast<Prefix*>(at)[-1] = {base, size};
  ++*counters->allocations;
  ++*counters->blocks;
  return reinterpret_cast<void*>(at);
}

void VKAPI_CALL free_block(void* user, void* block) {
  if (block == nullptr) return;
  --*static_cast<Counters*>(user)->blocks;
  std::free(static_cast<Prefix*>(block)[-1].base);
}

void* VKAPI_CALL grow_block(void* user, void* block, size_t size, size_t alignment, VkSystemAllocationScope scope) {
  if (size == 0) {
    free_block(user, block);
    return nullptr;
  }
  void* grown = allocate_block(user, size, alignment, scope);
  if (block != nullptr && grown != nullptr) {
    std::memcpy(grown, block, std::min(size, static_cast<Prefix*>(block)[-1].size));
    free_block(user, block);
  }
  return grown;
}

bool has_layer(const vulkan::Functions& vk, const char* name) {
  uint32_t count = 0;
  vk.EnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  vk.EnumerateInstanceLayerProperties(&count, layers.data());
  return std::any_of(layers.begin(), layers.end(),
                     [&](const VkLayerProperties& layer) { return std::strcmp(layer.layerName, name) == 0; });
}

std::vector<VkExtensionProperties> extensions_of(const vulkan::Functions& vk, const char* layer) {
  uint32_t count = 0;
  vk.EnumerateInstanceExtensionProperties(layer, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  vk.EnumerateInstanceExtensionProperties(layer, &count, extensions.data());
  return extensions;
}

}  // namespace

bool has_message(const std::string& validation, const char* id) {
  return ("\n" + validation).find(std::string("\n") + id + ": ") != std::string::npos;
}

Device adopted(const vulkan::HostDevice& host) {
  Device device;
  REQUIRE(vulkan::adopt(host, &device) == Status::Ok);
  return device;
}

std::unique_ptr<HostVulkan> HostVulkan::create(const Options& options) {
  pretend({});
  inject_failure(0, VK_SUCCESS);
  forget_objects();
  std::unique_ptr<HostVulkan> host(new HostVulkan);
  if (host->create_instance(options) && host->create_device(options)) return host;
  WARN("no Vulkan device here: what this test is about was not tested");
  return nullptr;
}

bool HostVulkan::create_instance(const Options& options) {
  const PFN_vkGetInstanceProcAddr get = vulkan::find_loader();
  if (get == nullptr || load_global_functions(get, &vk_) != nullptr) return false;
  set_real_instance_proc(get);
  if (options.two_families) setenv("VK_ADD_LAYER_PATH", HEED_LAYER_FOLDER, 1);
  // Layers, from the program to the driver.
  std::vector<const char*> layers;
  if (options.validation) layers.push_back("VK_LAYER_KHRONOS_validation");
  if (options.two_families) layers.push_back("VK_LAYER_HEED_two_families");
  for (const char* layer : layers) {
    INFO(layer);
    REQUIRE(has_layer(vk_, layer));  // without the layer half of these tests would check nothing
  }
  std::vector<const char*> extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
  vulkan::LayerSettings settings;
  bool has_settings = false;
  if (options.validation) {
    extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
    has_settings = vulkan::LayerSettings::are_taken(extensions_of(vk_, layers[0]));
    if (has_settings) extensions.push_back(vulkan::LayerSettings::kExtension);
  }
  const VkValidationFeatureEnableEXT enabled[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  auto features = structure<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = enabled;
  if (has_settings) features.pNext = settings.chain(nullptr);
  auto application = structure<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.apiVersion = api_version_ = options.vulkan_1_1 ? VK_API_VERSION_1_1 : VK_API_VERSION_1_2;
  auto info =
      structure<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, options.validation ? &features : nullptr);
  info.pApplicationInfo = &application;
  info.enabledLayerCount = static_cast<uint32_t>(layers.size());
  info.ppEnabledLayerNames = layers.data();
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  if (vk_.CreateInstance(&info, nullptr, &instance_) != VK_SUCCESS) return false;
  REQUIRE(load_instance_functions(instance_, true, &vk_) == nullptr);
  auto messenger =
      structure<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  messenger.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                          VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  messenger.pfnUserCallback = on_message;
  messenger.pUserData = &validation_;
  REQUIRE(vk_.CreateDebugUtilsMessengerEXT(instance_, &messenger, nullptr, &messenger_) == VK_SUCCESS);
  return true;
}

void HostVulkan::choose_queues(const std::vector<VkQueueFamilyProperties>& families, const Options& options) {
  last_family_ = static_cast<uint32_t>(families.size()) - 1;
  family_ = heed_family_ = vulkan::choose_queue_family(families);
  if (!options.async) return;
  if (families[family_].queueCount > 1) heed_queue_index_ = 1;
  for (uint32_t i = 0; i < families.size(); ++i) {
    if (i == family_ || families[i].queueCount == 0) continue;
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0 || families[i].timestampValidBits == 0) continue;
    heed_family_ = i;
    heed_queue_index_ = 0;
  }
}

bool HostVulkan::create_device(const Options& options) {
  uint32_t count = 0;
  vk_.EnumeratePhysicalDevices(instance_, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  vk_.EnumeratePhysicalDevices(instance_, &count, devices.data());
  vulkan::PhysicalDevice chosen;
  for (VkPhysicalDevice handle : devices) {
    chosen = vulkan::read_physical_device(vk_, handle, api_version_);
    if (vulkan::below_floor(chosen).empty()) physical_ = handle;
    if (physical_ != VK_NULL_HANDLE) break;
  }
  if (physical_ == VK_NULL_HANDLE) return false;
  choose_queues(chosen.queue_families, options);
  timestamps_ = chosen.queue_families[heed_family_].timestampValidBits != 0;
  has_f16_ = chosen.features.storageBuffer16BitAccess;
  give_queue_ = options.queue;

  features_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  storage_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  vulkan11_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  if (options.f16_in_1_1)
    features_.pNext = &vulkan11_;
  else
    features_.pNext = &storage_;
  timeline_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
  timeline_.timelineSemaphore = VK_TRUE;
  if (options.async) storage_.pNext = &timeline_;
  const VkBool32 enable = options.f16 && has_f16_ ? VK_TRUE : VK_FALSE;
  storage_.storageBuffer16BitAccess = vulkan11_.storageBuffer16BitAccess = enable;

  const float priorities[] = {1.0f, 1.0f};
  VkDeviceQueueCreateInfo queues[2] = {};
  for (VkDeviceQueueCreateInfo& queue : queues) {
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueCount = 1;
    queue.pQueuePriorities = priorities;
  }
  queues[0].queueFamilyIndex = family_;
  queues[0].queueCount = family_ == heed_family_ ? heed_queue_index_ + 1 : 1;
  queues[1].queueFamilyIndex = heed_family_;
  auto info = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features_);
  info.queueCreateInfoCount = family_ == heed_family_ ? 1 : 2;
  info.pQueueCreateInfos = queues;
  REQUIRE(vk_.CreateDevice(physical_, &info, nullptr, &device_) == VK_SUCCESS);
  REQUIRE(load_device_functions(device_, &vk_) == nullptr);
  vk_.GetDeviceQueue(device_, family_, 0, &queue_);
  vk_.GetDeviceQueue(device_, heed_family_, heed_queue_index_, &heed_queue_);

  auto pool = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = family_;
  REQUIRE(vk_.CreateCommandPool(device_, &pool, nullptr, &pool_) == VK_SUCCESS);
  auto buffers = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  buffers.commandPool = pool_;
  buffers.commandBufferCount = kCommandBuffers;
  REQUIRE(vk_.AllocateCommandBuffers(device_, &buffers, commands_) == VK_SUCCESS);
  const auto fence = structure<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  REQUIRE(vk_.CreateFence(device_, &fence, nullptr, &fence_) == VK_SUCCESS);

  callbacks_.pUserData = new Counters{&host_blocks_, &host_allocations_};
  callbacks_.pfnAllocation = allocate_block;
  callbacks_.pfnReallocation = grow_block;
  callbacks_.pfnFree = free_block;
  return true;
}

HostVulkan::~HostVulkan() {
  while (!memory_.empty()) free(memory_.back());
  if (fence_ != VK_NULL_HANDLE) vk_.DestroyFence(device_, fence_, nullptr);
  if (pool_ != VK_NULL_HANDLE) vk_.DestroyCommandPool(device_, pool_, nullptr);
  if (device_ != VK_NULL_HANDLE) vk_.DestroyDevice(device_, nullptr);
  CHECK(live_objects() == "");
  CHECK(foreign_destroys() == "");
  CHECK(host_blocks_ == 0);
  CHECK(validation_ == "");
  CHECK(log_ == "");
  if (messenger_ != VK_NULL_HANDLE) vk_.DestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  if (instance_ != VK_NULL_HANDLE) vk_.DestroyInstance(instance_, nullptr);
  delete static_cast<Counters*>(callbacks_.pUserData);
}

vulkan::HostDevice HostVulkan::host_device() const {
  vulkan::HostDevice host;
  host.instance = instance_;
  host.physical_device = physical_;
  host.device = device_;
  host.get_instance_proc_addr = counting_instance_proc;
  host.api_version = api_version_;
  host.queue_family = heed_family_;
  host.queue = give_queue_ ? heed_queue_ : VK_NULL_HANDLE;
  host.enabled_features = &features_;
  host.debug_utils = true;
  host.allocator = &callbacks_;
  host.log.callback = [](void* user, LogLevel, const char* message) {
    *static_cast<std::string*>(user) += std::string(message) + "\n";
  };
  host.log.user = &log_;
  return host;
}

std::string HostVulkan::take_validation() { return std::exchange(validation_, {}); }
std::string HostVulkan::take_log() { return std::exchange(log_, {}); }

void HostVulkan::refused(Status got, Status want, std::string_view said) {
  CHECK(got == want);
  CHECK_THAT(take_log(), holds(said));
}

HostVulkan::Memory HostVulkan::allocate(VkDeviceSize bytes, VkBufferUsageFlags usage) {
  Memory result;
  auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes;
  info.usage = usage;
  REQUIRE(vk_.CreateBuffer(device_, &info, nullptr, &result.buffer) == VK_SUCCESS);
  VkMemoryRequirements needs = {};
  vk_.GetBufferMemoryRequirements(device_, result.buffer, &needs);
  VkPhysicalDeviceMemoryProperties memory = {};
  vk_.GetPhysicalDeviceMemoryProperties(physical_, &memory);
  constexpr VkMemoryPropertyFlags kWanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  auto allocation = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  allocation.allocationSize = needs.size;
  while ((needs.memoryTypeBits >> allocation.memoryTypeIndex & 1u) == 0 ||
         (memory.memoryTypes[allocation.memoryTypeIndex].propertyFlags & kWanted) != kWanted)
    REQUIRE(++allocation.memoryTypeIndex < memory.memoryTypeCount);
  REQUIRE(vk_.AllocateMemory(device_, &allocation, nullptr, &result.memory) == VK_SUCCESS);
  REQUIRE(vk_.BindBufferMemory(device_, result.buffer, result.memory, 0) == VK_SUCCESS);
  void* mapped = nullptr;
  REQUIRE(vk_.MapMemory(device_, result.memory, 0, VK_WHOLE_SIZE, 0, &mapped) == VK_SUCCESS);
  result.mapped = static_cast<std::byte*>(mapped);
  memory_.push_back(result);
  return result;
}

void HostVulkan::free(const Memory& given) {
  const Memory memory = given;  // a copy, since `given` may be in memory_
  std::erase_if(memory_, [&](const Memory& other) { return other.buffer == memory.buffer; });
  vk_.DestroyBuffer(device_, memory.buffer, nullptr);
  vk_.FreeMemory(device_, memory.memory, nullptr);
}

VkCommandBuffer HostVulkan::begin(uint32_t index) {
  const auto info = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  REQUIRE(vk_.BeginCommandBuffer(commands_[index], &info) == VK_SUCCESS);
  return commands_[index];
}

void HostVulkan::end(VkCommandBuffer commands) {
  // Lets the host read the outputs.
  auto barrier = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vk_.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                         nullptr, 0, nullptr);
  REQUIRE(vk_.EndCommandBuffer(commands) == VK_SUCCESS);
}

void HostVulkan::submit_and_wait(std::span<const VkCommandBuffer> commands) {
  auto info = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = static_cast<uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();
  REQUIRE(vk_.ResetFences(device_, 1, &fence_) == VK_SUCCESS);
  REQUIRE(vk_.QueueSubmit(queue_, 1, &info, fence_) == VK_SUCCESS);
  REQUIRE(vk_.WaitForFences(device_, 1, &fence_, VK_TRUE, 60'000'000'000ull) == VK_SUCCESS);
  // A layer that checks accesses analyses finished work in its own thread, which must end before anything is destroyed.
  const auto wait = reinterpret_cast<PFN_vkQueueWaitIdle>(vk_.GetDeviceProcAddr(device_, "vkQueueWaitIdle"));
  REQUIRE((wait != nullptr && wait(queue_) == VK_SUCCESS));
}

Status HostVulkan::frame(const Plan& plan, const std::function<Status(VkCommandBuffer)>& record) {
  const VkCommandBuffer commands = begin();
  const Status status = record(commands);
  const vulkan::SyncNeeds needs = vulkan::sync_needs(plan);
  const VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, needs.after_src_accesses,
                                   VK_ACCESS_HOST_READ_BIT};
  vk_.CmdPipelineBarrier(commands, needs.after_src_stages, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0,
                         nullptr);
  end(commands);
  if (status == Status::Ok) submit_and_wait(commands);
  return status;
}

void HostVulkan::record_and_wait(const Plan& plan, const vulkan::RecordInfo& info, uint32_t index) {
  const VkCommandBuffer commands = begin(index);
  const Status status = vulkan::record(plan, commands, info);
  INFO(log_);
  REQUIRE(status == Status::Ok);
  end(commands);
  submit_and_wait(commands);
}

}  // namespace heed::test
