#include "gpu.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "loader.hpp"

namespace swarm {

const char* to_string(VkResult result) {
  switch (result) {
    case VK_SUCCESS: return "VK_SUCCESS";
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED: return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST: return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_LAYER_NOT_PRESENT: return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_SURFACE_LOST_KHR: return "VK_ERROR_SURFACE_LOST_KHR";
    case VK_ERROR_OUT_OF_DATE_KHR: return "VK_ERROR_OUT_OF_DATE_KHR";
    default: return "an error of the driver";
  }
}

namespace {

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  // Leaves out messages of the loader and of drivers, which are not about this program's calls.
  if (data->pMessageIdName == nullptr || std::strcmp(data->pMessageIdName, "Loader Message") == 0) return VK_FALSE;
  ++*static_cast<uint32_t*>(user);
  std::fprintf(stderr, "swarm: validation: %s\n", data->pMessage);
  return VK_FALSE;
}

bool has_instance_extension(const char* name) {
  uint32_t count = 0;
  vkEnumerateInstanceExtensionProperties(nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  vkEnumerateInstanceExtensionProperties(nullptr, &count, all.data());
  return std::any_of(all.begin(), all.end(),
                     [&](const VkExtensionProperties& e) { return std::strcmp(e.extensionName, name) == 0; });
}

int rank_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
    default: return 3;
  }
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

bool matches(const std::string& wanted, size_t index, const char* name) {
  if (wanted.empty()) return true;
  if (wanted.find_first_not_of("0123456789") == std::string::npos) return wanted == std::to_string(index);
  return lower(name).find(lower(wanted)) != std::string::npos;
}

}  // namespace

Gpu::Gpu(const GpuOptions& options) {
  const PFN_vkGetInstanceProcAddr get = find_loader();
  if (get == nullptr) throw Failure("there is no Vulkan loader on this machine");
  volkInitializeCustom(get);
  try {
    create_instance(options);
    if (options.make_surface) surface = options.make_surface(instance);
    choose_device(options.device);
    create_device();
  } catch (...) {
    release();
    throw;
  }
}

Gpu::~Gpu() { release(); }

void Gpu::release() {
  if (device != VK_NULL_HANDLE) vkDestroyDevice(std::exchange(device, nullptr), nullptr);
  if (surface != VK_NULL_HANDLE) vkDestroySurfaceKHR(instance, std::exchange(surface, VK_NULL_HANDLE), nullptr);
  if (messenger_ != VK_NULL_HANDLE)
    vkDestroyDebugUtilsMessengerEXT(instance, std::exchange(messenger_, VK_NULL_HANDLE), nullptr);
  if (instance != VK_NULL_HANDLE) vkDestroyInstance(std::exchange(instance, nullptr), nullptr);
}

void Gpu::create_instance(const GpuOptions& options) {
  if (volkGetInstanceVersion() < kApi) throw Failure("the Vulkan loader is older than Vulkan 1.1");
  std::vector<const char*> wanted = options.instance_extensions, layers;
  debug_utils = has_instance_extension(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  if (debug_utils) wanted.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);

  const VkValidationFeatureEnableEXT checks[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  auto features = structure<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = checks;
  auto application = structure<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pApplicationName = "swarm";
  application.apiVersion = kApi;
  auto info = structure<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  if (options.validate) {
    layers.push_back("VK_LAYER_KHRONOS_validation");
    wanted.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
    info.pNext = &features;
  }
  info.enabledLayerCount = static_cast<uint32_t>(layers.size());
  info.ppEnabledLayerNames = layers.data();
  info.enabledExtensionCount = static_cast<uint32_t>(wanted.size());
  info.ppEnabledExtensionNames = wanted.data();
  const VkResult result = vkCreateInstance(&info, nullptr, &instance);
  if (result == VK_ERROR_LAYER_NOT_PRESENT) throw Failure("the Khronos validation layer is not installed");
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) throw Failure("there is no Vulkan driver on this machine");
  check(result, "vkCreateInstance");
  volkLoadInstanceOnly(instance);

  if (!options.validate) return;
  auto messages =
      structure<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  messages.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messages.messageType =
      VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  messages.pfnUserCallback = on_message;
  messages.pUserData = &complaints_;
  check(vkCreateDebugUtilsMessengerEXT(instance, &messages, nullptr, &messenger_), "vkCreateDebugUtilsMessengerEXT");
}

bool Gpu::find_family(VkPhysicalDevice candidate, uint32_t* found) const {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(candidate, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(candidate, &count, families.data());
  constexpr VkQueueFlags kBoth = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  for (uint32_t i = 0; i < count; ++i) {
    VkBool32 presents = VK_TRUE;
    if (surface != VK_NULL_HANDLE &&
        vkGetPhysicalDeviceSurfaceSupportKHR(candidate, i, surface, &presents) != VK_SUCCESS)
      presents = VK_FALSE;
    if ((families[i].queueFlags & kBoth) != kBoth || presents != VK_TRUE) continue;
    *found = i;
    return true;
  }
  return false;
}

void Gpu::choose_device(const std::string& wanted) {
  uint32_t count = 0;
  vkEnumeratePhysicalDevices(instance, &count, nullptr);
  std::vector<VkPhysicalDevice> all(count);
  vkEnumeratePhysicalDevices(instance, &count, all.data());
  std::string names;
  int best = 4;
  bool named = false;
  for (size_t i = 0; i < all.size(); ++i) {
    VkPhysicalDeviceProperties candidate;
    vkGetPhysicalDeviceProperties(all[i], &candidate);
    names += (names.empty() ? "" : ", ") + std::to_string(i) + ": " + candidate.deviceName;
    if (!matches(wanted, i, candidate.deviceName)) continue;
    named = true;
    uint32_t candidate_family = 0;
    if (candidate.apiVersion < kApi || !find_family(all[i], &candidate_family)) continue;
    if (rank_of(candidate.deviceType) >= best) continue;
    best = rank_of(candidate.deviceType);
    physical = all[i];
    properties = candidate;
    family = candidate_family;
  }
  if (count == 0) throw Failure("there is no Vulkan device on this machine");
  if (!named) throw Failure("no device matches '" + wanted + "'; there is " + names);
  if (physical == VK_NULL_HANDLE)
    throw Failure(std::string("no device with Vulkan 1.1 has a queue for graphics and compute") +
                  (surface != VK_NULL_HANDLE ? " that can present to this window" : "") + "; there is " + names);
}

void Gpu::create_device() {
  vkGetPhysicalDeviceMemoryProperties(physical, &memory);
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  timestamps = families[family].timestampValidBits != 0;

  if (surface != VK_NULL_HANDLE) extensions.push_back(VK_KHR_SWAPCHAIN_EXTENSION_NAME);
  const float priority = 1.0f;
  auto queue_info = structure<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue_info.queueFamilyIndex = family;
  queue_info.queueCount = 1;
  queue_info.pQueuePriorities = &priority;
  auto info = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue_info;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  check(vkCreateDevice(physical, &info, nullptr, &device), "vkCreateDevice");
  volkLoadDevice(device);
  vkGetDeviceQueue(device, family, 0, &queue);
}

}  // namespace swarm
