#include "vulkan/calls/names.hpp"

#include "base/logging.hpp"

namespace heed::vulkan {

const char* to_string(VkResult result) {
  switch (result) {
#define HEED_NAME(name) \
  case name: return #name
    HEED_NAME(VK_SUCCESS);
    HEED_NAME(VK_NOT_READY);
    HEED_NAME(VK_TIMEOUT);
    HEED_NAME(VK_EVENT_SET);
    HEED_NAME(VK_EVENT_RESET);
    HEED_NAME(VK_INCOMPLETE);
    HEED_NAME(VK_ERROR_OUT_OF_HOST_MEMORY);
    HEED_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY);
    HEED_NAME(VK_ERROR_INITIALIZATION_FAILED);
    HEED_NAME(VK_ERROR_DEVICE_LOST);
    HEED_NAME(VK_ERROR_MEMORY_MAP_FAILED);
    HEED_NAME(VK_ERROR_LAYER_NOT_PRESENT);
    HEED_NAME(VK_ERROR_EXTENSION_NOT_PRESENT);
    HEED_NAME(VK_ERROR_FEATURE_NOT_PRESENT);
    HEED_NAME(VK_ERROR_INCOMPATIBLE_DRIVER);
    HEED_NAME(VK_ERROR_TOO_MANY_OBJECTS);
    HEED_NAME(VK_ERROR_FORMAT_NOT_SUPPORTED);
    HEED_NAME(VK_ERROR_FRAGMENTED_POOL);
    HEED_NAME(VK_ERROR_UNKNOWN);
    HEED_NAME(VK_ERROR_OUT_OF_POOL_MEMORY);
    HEED_NAME(VK_ERROR_INVALID_EXTERNAL_HANDLE);
    HEED_NAME(VK_ERROR_FRAGMENTATION);
    HEED_NAME(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
    HEED_NAME(VK_PIPELINE_COMPILE_REQUIRED);
    HEED_NAME(VK_ERROR_INVALID_SHADER_NV);
    HEED_NAME(VK_ERROR_NOT_PERMITTED_KHR);
#undef HEED_NAME
    default: return "a VkResult without a name here";
  }
}

Status to_status(VkResult result) {
  if (result >= 0) return Status::Ok;
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY: return Status::OutOfMemory;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_FRAGMENTATION:
    case VK_ERROR_MEMORY_MAP_FAILED: return Status::OutOfDeviceMemory;
    case VK_ERROR_DEVICE_LOST: return Status::DeviceLost;
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_LAYER_NOT_PRESENT:
    case VK_ERROR_INCOMPATIBLE_DRIVER: return Status::Unsupported;
    default: return Status::DriverError;
  }
}

Status check(const Log& log, const char* what, VkResult result) {
  if (result >= 0) return Status::Ok;
  return fail(log, to_status(result), format("%s: %s (%d)", what, to_string(result), static_cast<int>(result)));
}

}  // namespace heed::vulkan
