#include "vulkan/sabotage.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#ifdef HEED_SABOTAGE_LOADER
#include <dlfcn.h>
#endif

namespace heed::test {
namespace {

Sabotage plan;
bool hanging = false, losing = false;
uint32_t fills = 0;
std::map<VkPipeline, std::string> kernels;
std::string bound;
std::vector<std::string> labels;
std::map<VkObjectType, std::vector<std::string>> names;

PFN_vkGetInstanceProcAddr real_instance_proc = nullptr;
PFN_vkGetDeviceProcAddr real_device_proc = nullptr;

#define HEED_REAL(name) PFN_vk##name real##name = nullptr;
HEED_REAL(SetDebugUtilsObjectNameEXT)
HEED_REAL(CmdBeginDebugUtilsLabelEXT)
HEED_REAL(CmdBindPipeline)
HEED_REAL(CmdDispatch)
HEED_REAL(CmdDispatchBase)
HEED_REAL(CmdFillBuffer)
HEED_REAL(WaitForFences)
#undef HEED_REAL

VkResult VKAPI_CALL set_name(VkDevice device, const VkDebugUtilsObjectNameInfoEXT* info) {
  if (info->objectType == VK_OBJECT_TYPE_PIPELINE)
    kernels[(VkPipeline)info->objectHandle] = info->pObjectName;  // an integer where handles are integers
  names[info->objectType].emplace_back(info->pObjectName);
  return realSetDebugUtilsObjectNameEXT(device, info);
}

void VKAPI_CALL begin_label(VkCommandBuffer commands, const VkDebugUtilsLabelEXT* label) {
  labels.emplace_back(label->pLabelName);
  realCmdBeginDebugUtilsLabelEXT(commands, label);
}

void VKAPI_CALL bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline) {
  bound = kernels[pipeline];
  realCmdBindPipeline(commands, point, pipeline);
}

// False if the dispatch shall be skipped.
bool dispatches() {
  const auto is = [](const std::string& prefix) { return !prefix.empty() && bound.starts_with(prefix); };
  hanging |= is(plan.hang);
  losing |= is(plan.lose);
  return !is(plan.wrong);
}

void VKAPI_CALL dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  if (dispatches()) realCmdDispatch(commands, x, y, z);
}

void VKAPI_CALL dispatch_base(VkCommandBuffer commands, uint32_t bx, uint32_t by, uint32_t bz, uint32_t x, uint32_t y,
                              uint32_t z) {
  if (dispatches()) realCmdDispatchBase(commands, bx, by, bz, x, y, z);
}

void VKAPI_CALL fill_buffer(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size,
                            uint32_t data) {
  if (data != 1 || fills++ < plan.fills) realCmdFillBuffer(commands, buffer, offset, size, data);
}

// Waits until the work has really ended, whatever it then returns, so that objects may be destroyed.
VkResult VKAPI_CALL wait(VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all, uint64_t timeout) {
  const VkResult result = realWaitForFences(device, count, fences, all, timeout);
  if (losing) {
    losing = false;
    return VK_ERROR_DEVICE_LOST;
  }
  if (!hanging) return result;
  hanging = false;
  return VK_TIMEOUT;
}

PFN_vkVoidFunction spoiled(const char* name, PFN_vkVoidFunction real) {
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  if (is("vkSetDebugUtilsObjectNameEXT")) return replace(real, &realSetDebugUtilsObjectNameEXT, &set_name);
  if (is("vkCmdBeginDebugUtilsLabelEXT")) return replace(real, &realCmdBeginDebugUtilsLabelEXT, &begin_label);
  if (is("vkCmdBindPipeline")) return replace(real, &realCmdBindPipeline, &bind_pipeline);
  if (is("vkCmdDispatch")) return replace(real, &realCmdDispatch, &dispatch);
  if (is("vkCmdDispatchBase")) return replace(real, &realCmdDispatchBase, &dispatch_base);
  if (is("vkCmdFillBuffer")) return replace(real, &realCmdFillBuffer, &fill_buffer);
  if (is("vkWaitForFences")) return replace(real, &realWaitForFences, &wait);
  return real;
}

PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char* name) {
  return spoiled(name, real_device_proc(device, name));
}

}  // namespace

void sabotage(const Sabotage& what) {
  plan = what;
  hanging = losing = false;
  fills = 0;
}

std::vector<std::string> take_labels() { return std::exchange(labels, {}); }
std::vector<std::string> take_names(VkObjectType type) { return std::exchange(names[type], {}); }

void set_sabotaged(PFN_vkGetInstanceProcAddr real) { real_instance_proc = real; }

PFN_vkVoidFunction VKAPI_CALL sabotaged_instance_proc(VkInstance instance, const char* name) {
  const PFN_vkVoidFunction real = real_instance_proc(instance, name);
  if (std::strcmp(name, "vkGetDeviceProcAddr") != 0) return spoiled(name, real);
  return replace(real, &real_device_proc, &device_proc);
}

}  // namespace heed::test

#ifdef HEED_SABOTAGE_LOADER
extern "C" __attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  static void* const loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (loader == nullptr) return nullptr;
  heed::test::set_sabotaged(reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr")));
  if (std::strcmp(name, "vkCreateInstance") == 0) {
    const auto text = [](const char* variable) {
      const char* value = std::getenv(variable);
      return std::string(value == nullptr ? "" : value);
    };
    heed::test::sabotage({.wrong = text("HEED_SABOTAGE_WRONG"), .hang = text("HEED_SABOTAGE_HANG"), .lose = {}});
  }
  return heed::test::sabotaged_instance_proc(instance, name);
}
#endif
