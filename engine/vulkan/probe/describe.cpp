// A textual description of a physical device, for users who choose one.
#include <algorithm>
#include <cctype>

#include "base/logging.hpp"
#include "vulkan/probe/capabilities.hpp"

namespace heed::vulkan {
namespace {

DeviceKind kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return DeviceKind::DiscreteGpu;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return DeviceKind::IntegratedGpu;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return DeviceKind::VirtualGpu;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return DeviceKind::SoftwareGpu;
    default: return DeviceKind::OtherGpu;
  }
}

// Lower-case words of `text` joined by '-'; parenthesized parts and filler words are omitted.
std::string slug(const std::string& text) {
  std::string result, word;
  int depth = 0;
  const auto flush = [&] {
    if (!word.empty() && word != "device" && word != "graphics" && word != "r" && word != "tm")
      result += (result.empty() ? "" : "-") + word;
    word.clear();
  };
  for (char c : text) {
    if (c == '(')
      flush(), ++depth;
    else if (c == ')')
      depth = std::max(depth - 1, 0);
    else if (depth > 0)
      continue;
    else if (std::isalnum(static_cast<unsigned char>(c)))
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else
      flush();
  }
  flush();
  return result;
}

// "32 KiB"
std::string bytes(uint64_t count) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  auto value = static_cast<double>(count);
  for (; value >= 1024.0 && unit + 1 < std::size(kUnits); ++unit) value /= 1024.0;
  return format("%.4g %s", value, kUnits[unit]);
}

std::string family_text(const PhysicalDevice& device, uint32_t family) {
  const bool draws = (device.queue_families[family].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
  return format("%u (%s)", family, draws ? "graphics and compute" : "compute");
}

// VkPhysicalDeviceLimits as (name, value) pairs.
void list_limits(const PhysicalDevice& device, uint32_t family, DeviceInfo* info) {
  const VkPhysicalDeviceLimits& limits = device.properties.limits;
  const auto add = [&](const char* name, std::string value) { info->limits.emplace_back(name, std::move(value)); };
  const auto three = [](const uint32_t* v) { return format("%u x %u x %u", v[0], v[1], v[2]); };
  uint64_t local = 0;
  for (uint32_t i = 0; i < device.memory.memoryHeapCount; ++i)
    if ((device.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      local = std::max<uint64_t>(local, device.memory.memoryHeaps[i].size);
  add("device-local memory", bytes(local));
  add("largest allocation", bytes(device.memory_limits.maxMemoryAllocationSize));
  add("storage buffer range", bytes(limits.maxStorageBufferRange));
  add("storage buffer alignment", bytes(limits.minStorageBufferOffsetAlignment));
  add("shared memory", bytes(limits.maxComputeSharedMemorySize));
  add("workgroup invocations", std::to_string(limits.maxComputeWorkGroupInvocations));
  add("workgroup size", three(limits.maxComputeWorkGroupSize));
  add("workgroups", three(limits.maxComputeWorkGroupCount));
  add("push constants", bytes(limits.maxPushConstantsSize));
  add("cores", device.cores == 0 ? "not told" : std::to_string(device.cores));
  add("subgroup size", std::to_string(device.subgroup.subgroupSize));
  add("queue family", family == UINT32_MAX ? "none" : family_text(device, family));
  add("timestamp bits", family == UINT32_MAX ? "0" : std::to_string(device.queue_families[family].timestampValidBits));
  add("timestamp period", format("%g ns", static_cast<double>(limits.timestampPeriod)));
}

std::string matrix_text(const Capabilities& can, const WhyNoMatrix& why) {
  const auto text = [](const MatrixSize& size) { return format("%ux%ux%u", size.m, size.n, size.k); };
  if (can.matrix.m == 0) return "matrix units: not used, because " + why.f16;
  return "matrix units: used for f16 matmuls and attention (VK_KHR_cooperative_matrix, " + text(can.matrix) +
         (can.bfloat_matrix.m != 0 ? "), and bf16 matmuls (VK_KHR_shader_bfloat16, " + text(can.bfloat_matrix) + ")"
                                   : "), not for bf16, because " + why.bf16) +
         (can.byte_matrix.m != 0
              ? "; for bytes where rows may be rounded (CompileOptions::round_rows, " + text(can.byte_matrix) + ")"
              : "; not for bytes, because " + why.bytes);
}

std::string subgroup_text(const Capabilities& can) {
  if (can.subgroup_arithmetic)
    return "subgroup operations: used for sums and maxima along rows, and by matmuls of few rows";
  return "subgroup operations: not used, because compute shaders have no subgroup arithmetic";
}

std::string what_heed_uses(const PhysicalDevice& device, uint32_t family) {
  std::string text = "f32: used; every pass accumulates in f32";
  if (device.features.storageBuffer16BitAccess)
    text += "\nf16 and bf16 storage: used where a graph asks for it (storageBuffer16BitAccess)";
  else
    text += format("\nf16 and bf16 storage: not used, because %s; such graphs are refused",
                   device.adopted && device.offered.storageBuffer16BitAccess
                       ? "the host lists no storageBuffer16BitAccess in HostDevice::enabled_features"
                       : "the driver has no storageBuffer16BitAccess");
  text += "\nweights and tables of f16 and bf16 beside f32: used, read as words";
  WhyNoMatrix why;
  const Capabilities can = capabilities_of(device, &why);
  text.append("\n").append(subgroup_text(can));
  text.append("\n").append(matrix_text(can, why));
  const std::string no_dots = why_no_dots(device);
  text += "\ndot products of bytes: " + (no_dots.empty() ? "used where rows may be rounded (CompileOptions::round_rows)"
                                                         : "not used, because " + no_dots);
  text += device.queue_families[family].timestampValidBits != 0
              ? "\ntimestamps: used where a plan asks for them"
              : "\ntimestamps: not used, because the compute queue has none";
  return text;
}

}  // namespace

std::string short_name(const std::string& device_name) {
  // Mesa's RADV puts its own name and the chip in parentheses, which is more specific than the brand.
  const size_t radv = device_name.find("(RADV ");
  std::string name;
  if (radv != std::string::npos) {
    const size_t end = device_name.find(')', radv);
    name = slug(device_name.substr(radv + 1, end == std::string::npos ? end : end - radv - 1));
  }
  if (name.empty()) name = slug(device_name);
  return name.empty() ? "gpu" : name;
}

DeviceInfo describe(const PhysicalDevice& device, uint32_t queue_family) {
  DeviceInfo info;
  info.kind = kind_of(device.properties.deviceType);
  info.name = device.properties.deviceName;
  info.word = "vulkan:" + short_name(info.name);
  info.driver = device.driver.empty() ? format("driver 0x%08x", device.properties.driverVersion) : device.driver;
  const uint32_t version = device.properties.apiVersion;
  info.api = format("Vulkan %u.%u.%u", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                    VK_API_VERSION_PATCH(version));
  info.reason = below_floor(device);
  info.usable = info.reason.empty();
  if (info.usable) info.reason = what_heed_uses(device, queue_family);
  list_limits(device, queue_family, &info);
  return info;
}

void describe_queue(const PhysicalDevice& device, uint32_t family, const DeviceOptions& options,
                    const std::string& why_not_low, DeviceInfo* info) {
  const bool low = options.low_priority && why_not_low.empty();
  info->limits.emplace_back("queue priority", low ? "low" : "default");
  if (options.async_compute) {
    const bool draws = (device.queue_families[family].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
    info->reason += draws ? "\nasync compute: not used, because every queue family with compute also has graphics"
                          : format("\nasync compute: used, by queue family %u", family);
  }
  if (options.low_priority)
    info->reason += low ? format("\nlow queue priority: used (%s)", device.global_priority)
                        : "\nlow queue priority: not used, because " + why_not_low;
}

void make_unique(std::vector<DeviceInfo>* devices) {
  for (size_t i = 0; i < devices->size(); ++i) {
    const std::string base = (*devices)[i].word;
    const auto taken = [&](const std::string& word) {
      return std::any_of(devices->begin(), devices->begin() + static_cast<ptrdiff_t>(i),
                         [&](const DeviceInfo& other) { return other.word == word; });
    };
    for (int n = 2; taken((*devices)[i].word); ++n) (*devices)[i].word = base + format("#%d", n);
  }
}

}  // namespace heed::vulkan
