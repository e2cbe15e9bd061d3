// The table of functions that the test's host gives to heed. Each function counts, then calls the driver.
#include "vulkan/call_counter.hpp"

#include <tuple>
#include <type_traits>

#include "harness/catch.hpp"
#include "harness/counting.hpp"
#include "vulkan/calls/functions.hpp"
#include "vulkan/host_vulkan.hpp"
#include "vulkan/sabotage.hpp"

namespace heed::test {
namespace {

PFN_vkGetInstanceProcAddr real_instance_proc = nullptr;
PFN_vkGetDeviceProcAddr real_device_proc = nullptr;

Pretend pretended;
uint64_t calls_to_failure = 0;
VkResult failure = VK_SUCCESS;
std::string failed_function;

// True if this call of `name` shall fail.
bool fails_now(const char* name) {
  if (calls_to_failure == 0 || --calls_to_failure != 0) return false;
  const PauseNews pause;
  failed_function = name;
  return true;
}

// Handles that heed created through the table and has not destroyed, by type; and handles of others that it destroyed.
std::map<std::string, std::set<uint64_t>, std::less<>> live;
std::string foreign;
std::set<std::string> asked;

std::vector<std::pair<VkDeviceSize, VkDeviceSize>> mapped_ranges;

void born(std::string_view type, uint64_t handle) { live[std::string(type)].insert(handle); }
void died(std::string_view type, uint64_t handle) {
  if (handle != 0 && live[std::string(type)].erase(handle) == 0) foreign += std::string(type) + " ";
}

// Called after a successful call.
template <class Tag, class... A>
void follow(A... arguments) {
  constexpr std::string_view kName = Tag::kName;
  const auto all = std::make_tuple(arguments...);
  if constexpr (kName == "CreateComputePipelines") {
    for (uint32_t i = 0; i < std::get<2>(all); ++i) born("Pipeline", (uint64_t)std::get<5>(all)[i]);
  } else if constexpr (kName.starts_with("Create") && sizeof...(A) == 4) {
    born(kName.substr(6), (uint64_t)*std::get<3>(all));
  } else if constexpr (kName == "AllocateMemory") {
    born("Memory", (uint64_t)*std::get<3>(all));
  } else if constexpr (kName == "FreeMemory") {
    died("Memory", (uint64_t)std::get<1>(all));
  } else if constexpr (kName.starts_with("Destroy") && sizeof...(A) == 3) {
    died(kName.substr(7), (uint64_t)std::get<1>(all));
  } else if constexpr (kName == "DestroyDevice") {
    foreign += "Device ";
  }
}

#define HEED_TAG(function)                          \
  struct Tag##function {                            \
    static constexpr const char* kName = #function; \
  };
HEED_VULKAN_DEVICE(HEED_TAG)
HEED_TAG(SetDebugUtilsObjectNameEXT)
HEED_TAG(CmdBeginDebugUtilsLabelEXT)
HEED_TAG(CmdEndDebugUtilsLabelEXT)
#undef HEED_TAG

// One thunk per function: Tag makes them distinct, F is the function pointer's type.
template <class Tag, class F>
struct Thunk;
template <class Tag, class R, class... A>
struct Thunk<Tag, R(VKAPI_PTR*)(A...)> {
  static inline R(VKAPI_PTR* real)(A...) = nullptr;
  static inline uint64_t calls = 0;
  static R VKAPI_CALL call(A... arguments) {
    ++calls;
    const PauseNews pause;
    if constexpr (std::is_same_v<Tag, TagFlushMappedMemoryRanges> ||
                  std::is_same_v<Tag, TagInvalidateMappedMemoryRanges>) {
      const VkMappedMemoryRange* parts = std::get<2>(std::make_tuple(arguments...));
      mapped_ranges.emplace_back(parts->offset, parts->size);
    }
    if constexpr (std::is_same_v<Tag, TagCmdPipelineBarrier>) {
      if (pretended.no_barriers) return;
    }
    if constexpr (std::is_same_v<R, VkResult>) {
      if (fails_now(Tag::kName)) {
        if (std::is_same_v<Tag, TagWaitForFences> && failure == VK_ERROR_DEVICE_LOST) (void)real(arguments...);
        return failure;
      }
      const R result = real(arguments...);
      if (result >= 0) follow<Tag>(arguments...);
      return result;
    } else {
      follow<Tag>(arguments...);
      return real(arguments...);
    }
  }
};

struct Row {
  const char* name;
  uint64_t* calls;
  PFN_vkVoidFunction thunk;
  void (*set_real)(PFN_vkVoidFunction);
};

#define HEED_ROW(name)                                                          \
  {#name, &Thunk<Tag##name, PFN_vk##name>::calls,                               \
   reinterpret_cast<PFN_vkVoidFunction>(&Thunk<Tag##name, PFN_vk##name>::call), \
   [](PFN_vkVoidFunction real) { Thunk<Tag##name, PFN_vk##name>::real = reinterpret_cast<PFN_vk##name>(real); }},
const Row kRows[] = {HEED_VULKAN_DEVICE(HEED_ROW) HEED_ROW(SetDebugUtilsObjectNameEXT)
                         HEED_ROW(CmdBeginDebugUtilsLabelEXT) HEED_ROW(CmdEndDebugUtilsLabelEXT)};
#undef HEED_ROW

PFN_vkVoidFunction counted(const char* name, PFN_vkVoidFunction real) {
  if (real == nullptr) return nullptr;
  for (const Row& row : kRows) {
    if (std::strcmp(row.name, name + 2) != 0) continue;
    row.set_real(real);
    return row.thunk;
  }
  return real;
}

PFN_vkGetPhysicalDeviceProperties real_properties = nullptr;
PFN_vkGetPhysicalDeviceMemoryProperties real_memory = nullptr;
PFN_vkGetPhysicalDeviceMemoryProperties2 real_memory_2 = nullptr;
PFN_vkGetPhysicalDeviceQueueFamilyProperties real_families = nullptr;
uint64_t budget_reads = 0;

void note_name(const char* name) {
  const PauseNews pause;
  asked.insert(name);
}

void VKAPI_CALL pretended_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* properties) {
  real_properties(device, properties);
  if (pretended.discrete) properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
}

void VKAPI_CALL pretended_memory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* memory) {
  real_memory(device, memory);
  for (uint32_t i = 0; i < memory->memoryTypeCount && pretended.non_coherent; ++i)
    memory->memoryTypes[i].propertyFlags &= ~VkMemoryPropertyFlags{VK_MEMORY_PROPERTY_HOST_COHERENT_BIT};
}

void VKAPI_CALL pretended_families(VkPhysicalDevice device, uint32_t* count, VkQueueFamilyProperties* families) {
  if (!pretended.transfer_family) return real_families(device, count, families);
  uint32_t real = 0;
  real_families(device, &real, nullptr);
  if (families != nullptr) {
    REQUIRE(*count == real + 1);
    real_families(device, &real, families);
    families[real] = {};
    families[real].queueFlags = VK_QUEUE_TRANSFER_BIT;
    families[real].queueCount = 1;
  }
  *count = real + 1;
}

// A driver's budget, as VK_EXT_memory_budget would report it.
void VKAPI_CALL pretended_memory_2(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2* memory) {
  real_memory_2(device, memory);
  for (auto* next = static_cast<VkBaseOutStructure*>(memory->pNext); next != nullptr; next = next->pNext) {
    if (next->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT) continue;
    ++budget_reads;
    auto* budget = reinterpret_cast<VkPhysicalDeviceMemoryBudgetPropertiesEXT*>(next);
    for (uint32_t i = 0; i < memory->memoryProperties.memoryHeapCount && pretended.budget != 0; ++i) {
      budget->heapBudget[i] = pretended.budget;
      budget->heapUsage[i] = pretended.used;
    }
  }
}

PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char* name) {
  note_name(name);
  return counted(name, real_device_proc(device, name));
}

}  // namespace

PFN_vkVoidFunction VKAPI_CALL counting_instance_proc(VkInstance instance, const char* name) {
  note_name(name);
  const PFN_vkVoidFunction real = real_instance_proc(instance, name);
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  if (is("vkGetDeviceProcAddr")) return replace(real, &real_device_proc, &device_proc);
  if (is("vkGetPhysicalDeviceProperties")) return replace(real, &real_properties, &pretended_properties);
  if (is("vkGetPhysicalDeviceMemoryProperties")) return replace(real, &real_memory, &pretended_memory);
  if (is("vkGetPhysicalDeviceQueueFamilyProperties")) return replace(real, &real_families, &pretended_families);
  if (is("vkGetPhysicalDeviceMemoryProperties2")) return replace(real, &real_memory_2, &pretended_memory_2);
  return counted(name, real);
}

void set_real_instance_proc(PFN_vkGetInstanceProcAddr real) { real_instance_proc = real; }

void pretend(const Pretend& what) { pretended = what; }

void inject_failure(uint64_t call, VkResult error) {
  calls_to_failure = call;
  failure = error;
  failed_function.clear();
}

std::string injected_into() { return failed_function; }

std::string live_objects() {
  std::string text;
  for (const auto& [type, handles] : live)
    if (!handles.empty()) text += std::to_string(handles.size()) + " " + type + " ";
  return text;
}

std::string foreign_destroys() { return foreign; }

std::string extension_functions_asked() {
  std::string text;
  for (const std::string& name : asked)
    if (name.ends_with("EXT") || name.ends_with("KHR")) text += name + " ";
  return text;
}

uint64_t budget_queries() { return budget_reads; }

std::vector<std::pair<VkDeviceSize, VkDeviceSize>> take_mapped_ranges() { return std::exchange(mapped_ranges, {}); }

void forget_objects() {
  live.clear();
  foreign.clear();
  asked.clear();
  budget_reads = 0;
}

uint64_t calls(const char* name) {
  for (const Row& row : kRows)
    if (std::strcmp(row.name, name) == 0) return *row.calls;
  return 0;
}

uint64_t calls_of_all() {
  uint64_t sum = 0;
  for (const Row& row : kRows) sum += *row.calls;
  return sum;
}

uint64_t calls_that_record_must_not_make(std::string* names) {
  uint64_t sum = 0;
  for (const Row& row : kRows) {
    const std::string_view name = row.name;
    const bool may = name.starts_with("Cmd") || name == "UpdateDescriptorSets" || name == "GetBufferMemoryRequirements";
    if (may || *row.calls == 0) continue;
    sum += *row.calls;
    *names += std::string(name) + " ";
  }
  return sum;
}

void reset_calls() {
  for (const Row& row : kRows) *row.calls = 0;
}

}  // namespace heed::test
