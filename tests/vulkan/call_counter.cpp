// The table of functions that heed gets from the test's host: each one counts, then calls the driver.
#include "vulkan/call_counter.hpp"

#include <cstring>
#include <string_view>

#include "vulkan/counting.hpp"
#include "vulkan/functions.hpp"
#include "vulkan/host_vulkan.hpp"

namespace heed::test {
namespace {

PFN_vkGetInstanceProcAddr real_instance_proc = nullptr;
PFN_vkGetDeviceProcAddr real_device_proc = nullptr;

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
    return real(arguments...);
  }
};

struct Row {
  const char* name;
  uint64_t* calls;
  PFN_vkVoidFunction thunk;
  void (*set_real)(PFN_vkVoidFunction);
};

#define HEED_TAG(name) struct Tag##name;
HEED_VULKAN_DEVICE(HEED_TAG)
HEED_TAG(SetDebugUtilsObjectNameEXT)
HEED_TAG(CmdBeginDebugUtilsLabelEXT)
HEED_TAG(CmdEndDebugUtilsLabelEXT)
#undef HEED_TAG

#define HEED_ROW(name)                                                                   \
  {#name, &Thunk<Tag##name, PFN_vk##name>::calls,                                        \
   reinterpret_cast<PFN_vkVoidFunction>(&Thunk<Tag##name, PFN_vk##name>::call),          \
   [](PFN_vkVoidFunction real) {                                                         \
     Thunk<Tag##name, PFN_vk##name>::real = reinterpret_cast<PFN_vk##name>(real);        \
   }},
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

PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char* name) {
  return counted(name, real_device_proc(device, name));
}

}  // namespace

PFN_vkVoidFunction VKAPI_CALL counting_instance_proc(VkInstance instance, const char* name) {
  const PFN_vkVoidFunction real = real_instance_proc(instance, name);
  if (std::strcmp(name, "vkGetDeviceProcAddr") != 0) return counted(name, real);
  real_device_proc = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
  return reinterpret_cast<PFN_vkVoidFunction>(&device_proc);
}

void set_real_instance_proc(PFN_vkGetInstanceProcAddr real) { real_instance_proc = real; }

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
    if (name.starts_with("Cmd") || name == "UpdateDescriptorSets" || *row.calls == 0) continue;
    sum += *row.calls;
    *names += std::string(name) + " ";
  }
  return sum;
}

void reset_calls() {
  for (const Row& row : kRows) *row.calls = 0;
}

}  // namespace heed::test
