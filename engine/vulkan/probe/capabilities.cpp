#include "vulkan/probe/capabilities.hpp"

#include <algorithm>
#include <utility>

#include "base/logging.hpp"
#include "base/test_setting.hpp"
#include "vulkan/probe/core_count.hpp"

namespace heed::vulkan {
namespace {

std::vector<VkExtensionProperties> device_extensions(const Functions& vk, VkPhysicalDevice device) {
  uint32_t count = 0;
  if (vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) < 0) return {};
  std::vector<VkExtensionProperties> found(count);
  if (vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, found.data()) < 0) return {};
  found.resize(count);
  return found;
}

}  // namespace

PhysicalDevice read_physical_device(const Functions& vk, VkPhysicalDevice handle, uint32_t instance_version,
                                    bool adopted) {
  PhysicalDevice device;
  device.handle = handle;
  device.adopted = adopted;
  vk.GetPhysicalDeviceProperties(handle, &device.properties);
  vk.GetPhysicalDeviceMemoryProperties(handle, &device.memory);
  uint32_t families = 0;
  vk.GetPhysicalDeviceQueueFamilyProperties(handle, &families, nullptr);
  device.queue_families.resize(families);
  vk.GetPhysicalDeviceQueueFamilyProperties(handle, &families, device.queue_families.data());
  device.api_version = std::min(instance_version, device.properties.apiVersion);
  if (device.api_version < VK_API_VERSION_1_1) return device;  // the queries below need 1.1

  auto driver = structure<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  const bool knows_driver = device.api_version >= VK_API_VERSION_1_2;
  device.subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  auto floats =
      structure<VkPhysicalDeviceFloatControlsProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES);
  driver.pNext = &floats;
  auto dots = structure<VkPhysicalDeviceShaderIntegerDotProductProperties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES);
  if (device.api_version >= VK_API_VERSION_1_3) floats.pNext = &dots;
  device.subgroup.pNext = knows_driver ? &driver : nullptr;
  device.memory_limits.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
  device.memory_limits.pNext = &device.subgroup;
  auto properties =
      structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &device.memory_limits);
  vk.GetPhysicalDeviceProperties2(handle, &properties);
  device.memory_limits.pNext = device.subgroup.pNext = nullptr;
  device.driver_id = driver.driverID;
  device.rounds_to_even = floats.shaderRoundingModeRTEFloat32 != VK_FALSE;
  device.fast_dots = dots.integerDotProduct4x8BitPackedSignedAccelerated != VK_FALSE;
  device.keeps_infinities = floats.shaderSignedZeroInfNanPreserveFloat32 != VK_FALSE;
  if (knows_driver) device.driver = format("%s %s", driver.driverName, driver.driverInfo);

  const std::vector<VkExtensionProperties> extensions = device_extensions(vk, handle);
  device.portability_subset = contains(extensions, "VK_KHR_portability_subset");
  device.cores = read_core_count(vk, handle, extensions);
  device.memory_budget = contains(extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  for (const char* name : {VK_EXT_GLOBAL_PRIORITY_EXTENSION_NAME, VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME})
    if (contains(extensions, name)) device.global_priority = name;
  const bool listed = contains(extensions, kMatrixExtension);
  const bool matrices = listed && device.api_version >= VK_API_VERSION_1_3;
  Features asked = matrices ? kMatrixFeatures : Features{};
  asked.shaderBFloat16Type = asked.shaderBFloat16CooperativeMatrix = matrices && contains(extensions, kBfloatExtension);
  asked.shaderInt8 = matrices;
  asked.storageBuffer16BitAccess = true;
  asked.maintenance4 = asked.shaderIntegerDotProduct = device.api_version >= VK_API_VERSION_1_3;
  device.features = device.offered = read_features(vk, handle, asked);
  if (matrices)
    device.matrix_units = read_matrix_units(vk, handle, device.features);
  else if (listed)
    device.matrix_units.missing = needs_version(VK_API_VERSION_1_3, device);
  return device;
}

std::string needs_version(uint32_t needed, const PhysicalDevice& device) {
  const bool old_driver = device.properties.apiVersion < needed;
  const uint32_t has = old_driver ? device.properties.apiVersion : device.api_version;
  const char* whose = old_driver       ? "the driver has"
                      : device.adopted ? "HostDevice::api_version is"
                                       : "the Vulkan loader has";
  return format("Vulkan %u.%u is needed, and %s %u.%u", VK_API_VERSION_MAJOR(needed), VK_API_VERSION_MINOR(needed),
                whose, VK_API_VERSION_MAJOR(has), VK_API_VERSION_MINOR(has));
}

uint32_t choose_queue_family(const std::vector<VkQueueFamilyProperties>& families, bool async) {
  uint32_t chosen = UINT32_MAX;
  int best = -1;
  for (uint32_t i = 0; i < families.size(); ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0 || families[i].queueCount == 0) continue;
    const bool apart = async && (families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0;
    const int rank = (apart ? 2 : 0) + (families[i].timestampValidBits != 0 ? 1 : 0);
    if (rank <= best) continue;
    chosen = i;
    best = rank;
  }
  return chosen;
}

std::string below_floor(const PhysicalDevice& device) {
  if (device.api_version < VK_API_VERSION_1_1)
    return format("Vulkan %u.%u; 1.1 is needed", VK_API_VERSION_MAJOR(device.api_version),
                  VK_API_VERSION_MINOR(device.api_version));
  std::string missing;
  const auto need = [&](const char* name, uint64_t has, uint64_t floor) {
    if (has >= floor) return;
    missing += format("%s%s is %llu; %llu is needed", missing.empty() ? "" : "\n", name,
                      static_cast<unsigned long long>(has), static_cast<unsigned long long>(floor));
  };
  const VkPhysicalDeviceLimits& limits = device.properties.limits;
  const Capabilities floor;
  need("maxComputeWorkGroupInvocations", limits.maxComputeWorkGroupInvocations, floor.max_invocations);
  need("maxComputeSharedMemorySize", limits.maxComputeSharedMemorySize, floor.shared_bytes);
  need("maxPushConstantsSize", limits.maxPushConstantsSize, kMaxPushBytes);
  need("maxStorageBufferRange", limits.maxStorageBufferRange, floor.max_storage_range);
  need("maxPerStageDescriptorStorageBuffers", limits.maxPerStageDescriptorStorageBuffers, kMaxBindings);
  for (size_t axis = 0; axis < 3; ++axis) {
    need("maxComputeWorkGroupSize", limits.maxComputeWorkGroupSize[axis], floor.max_workgroup_size[axis]);
    need("maxComputeWorkGroupCount", limits.maxComputeWorkGroupCount[axis], floor.max_groups[axis]);
  }
  if (choose_queue_family(device.queue_families) == UINT32_MAX)
    missing += std::string(missing.empty() ? "" : "\n") + "no queue family with compute";
  return missing;
}

namespace {

// The test setting HEED_SUBGROUPS=never hides subgroup operations, so that tests cover devices without them.
bool may_use_subgroups() { return test_setting("HEED_SUBGROUPS") != "never"; }

bool is_software(const PhysicalDevice& device) { return device.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }

// Registers (32 bits) of an invocation: Apple's GPUs have 256 16-bit ones, Qualcomm's 48 vectors of four, AMD's and NVIDIA's 256. Intel's
// have 128 with 16 invocations in a subgroup, from Xe2 on, or 8, before.
uint32_t registers_of(const PhysicalDevice& device) {
  if (is_software(device)) return kRegistersInMemory;
  constexpr int kHoneykrisp = 26;  // Mesa's value; older Vulkan headers lack its name
  switch (static_cast<int>(device.driver_id)) {
    case VK_DRIVER_ID_MOLTENVK:
    case VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA:
    case VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS:
    case kHoneykrisp: return 128;
    case VK_DRIVER_ID_MESA_TURNIP:
    case VK_DRIVER_ID_QUALCOMM_PROPRIETARY: return 192;
    default: return kManyRegisters;
  }
}

// A core of NVIDIA's has 65,536 registers (CUDA C++ Programming Guide, technical specifications by compute capability). Compilers of other
// drivers use few enough registers, so no limit is given for them.
uint32_t core_registers_of(const PhysicalDevice& device) {
  return device.driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY ? 65536 : Capabilities{}.core_registers;
}

// The features that reproducible plans need and the device lacks; null if there are none.
const char* why_irreproducible(const PhysicalDevice& device) {
  if (device.api_version < VK_API_VERSION_1_2) return "Vulkan 1.2, in which shaders say how they round";
  if (!device.rounds_to_even) return "shaderRoundingModeRTEFloat32";
  if (!device.keeps_infinities) return "shaderSignedZeroInfNanPreserveFloat32";
  return nullptr;
}

}  // namespace

std::string why_no_dots(const PhysicalDevice& device) {
  if (device.api_version < VK_API_VERSION_1_3) return needs_version(VK_API_VERSION_1_3, device);
  if (!device.offered.shaderIntegerDotProduct) return "the driver has no shaderIntegerDotProduct";
  if (!device.features.shaderIntegerDotProduct)
    return "the host lists no shaderIntegerDotProduct in HostDevice::enabled_features";
  return !device.fast_dots && !is_software(device) ? "this driver has no fast instruction for them" : "";
}

Capabilities capabilities_of(const PhysicalDevice& device, WhyNoMatrix* why) {
  const VkPhysicalDeviceLimits& limits = device.properties.limits;
  Capabilities result;
  result.max_invocations = std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
  result.max_group_invocations = limits.maxComputeWorkGroupInvocations;
  std::copy_n(limits.maxComputeWorkGroupSize, 3, result.max_workgroup_size.begin());
  std::copy_n(limits.maxComputeWorkGroupCount, 3, result.max_groups.begin());
  result.shared_bytes = limits.maxComputeSharedMemorySize;
  result.max_storage_range = limits.maxStorageBufferRange;
  result.storage_alignment = static_cast<uint32_t>(std::max<VkDeviceSize>(limits.minStorageBufferOffsetAlignment, 4));
  result.subgroup_size = std::max(device.subgroup.subgroupSize, 1u);
  const VkSubgroupFeatureFlags operations =
      (device.subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 && may_use_subgroups()
          ? device.subgroup.supportedOperations
          : 0;
  result.subgroup_arithmetic = (operations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0;
  result.subgroup_ballot = (operations & VK_SUBGROUP_FEATURE_BALLOT_BIT) != 0;
  result.subgroup_shuffle = (operations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0;
  result.slow_shuffle = device.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
  // LP_MAX_TGSI_LOOP_ITERATIONS in Mesa's gallivm, a limit shared by all loops of a function.
  if (device.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE) result.most_rounds = 65535;
  result.registers = registers_of(device);
  result.core_registers = core_registers_of(device);
  // A CPU has no watchdog.
  if (is_software(device) || device.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU)
    result.invocation_work *= 10;
  result.cores = device.cores != 0 ? device.cores : likely_core_count(device.properties.deviceType);
  result.storage_16bit = device.features.storageBuffer16BitAccess;
  result.local_size_id = device.features.maintenance4;
  result.irreproducible = why_irreproducible(device);
  result.integer_dots = why_no_dots(device).empty();
  WhyNoMatrix reasons = {"16-bit storage is not used", "", ""};
  if (result.storage_16bit)
    result.matrix = choose_matrix(device.matrix_units, is_software(device), matrix_use(), &reasons.f16);
  if (result.matrix.m != 0) {
    result.bfloat_matrix = choose_bfloat_matrix(device.matrix_units, &reasons.bf16);
    result.byte_matrix = choose_byte_matrix(device.matrix_units, result.matrix, matrix_use(), &reasons.bytes);
    result.matrix_subgroup = choose_matrix_subgroup(device.matrix_units, result.subgroup_size);
    result.matrix_always = matrix_use() == MatrixUse::Always;
  }
  if (why != nullptr) *why = std::move(reasons);
  return result;
}

}  // namespace heed::vulkan
