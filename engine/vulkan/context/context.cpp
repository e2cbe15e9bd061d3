#include "vulkan/context/context.hpp"

#include "base/logging.hpp"
#include "vulkan/calls/names.hpp"

namespace heed::vulkan {

Status Context::check(const char* what, VkResult result) {
  if (result == VK_ERROR_DEVICE_LOST) lost = true;
  return vulkan::check(log, what, result);
}

Status Context::there(const char* what) const {
  if (!gone) return Status::Ok;
  return fail(log, Status::DeviceLost,
              format("%s: the host said that the device of %s is gone (device_gone)", what, info.word.c_str()));
}

Status Context::alive(const char* what) const {
  if (!lost) return Status::Ok;
  if (gone) return there(what);
  return fail(log, Status::DeviceLost,
              format("%s: %s was lost earlier; open it again or compile for the CPU", what, info.word.c_str()));
}

void Context::name(VkObjectType type, uint64_t handle, const char* text) const {
  if (!labels) return;
  auto info_name = structure<VkDebugUtilsObjectNameInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT);
  info_name.objectType = type;
  info_name.objectHandle = handle;
  info_name.pObjectName = text;
  (void)vk.SetDebugUtilsObjectNameEXT(device, &info_name);  // a failure has no consequence
}

}  // namespace heed::vulkan
