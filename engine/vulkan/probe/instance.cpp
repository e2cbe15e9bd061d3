#include "vulkan/probe/instance.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/logging.hpp"
#include "vulkan/calls/loader.hpp"
#include "vulkan/calls/names.hpp"
#include "vulkan/probe/features.hpp"
#include "vulkan/probe/layer_settings.hpp"

namespace heed::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

std::vector<VkExtensionProperties> instance_extensions(const Functions& vk, const char* layer) {
  uint32_t count = 0;
  if (vk.EnumerateInstanceExtensionProperties(layer, &count, nullptr) < 0) return {};
  std::vector<VkExtensionProperties> found(count);
  if (vk.EnumerateInstanceExtensionProperties(layer, &count, found.data()) < 0) return {};
  found.resize(count);
  return found;
}

bool has_layer(const Functions& vk, const char* name) {
  uint32_t count = 0;
  if (vk.EnumerateInstanceLayerProperties(&count, nullptr) < 0) return false;
  std::vector<VkLayerProperties> found(count);
  if (vk.EnumerateInstanceLayerProperties(&count, found.data()) < 0) return false;
  found.resize(count);
  return std::any_of(found.begin(), found.end(),
                     [&](const VkLayerProperties& layer) { return std::strcmp(layer.layerName, name) == 0; });
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(PFN_vkDebugUtilsMessengerCallbackEXT callback, void* user) {
  auto info = structure<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  info.pfnUserCallback = callback;
  info.pUserData = user;
  return info;
}

}  // namespace

std::string text_of(const VkDebugUtilsMessengerCallbackDataEXT& data) {
  std::string text = data.pMessage != nullptr ? data.pMessage : "";
  // Recording opens a label for each pass; the innermost one is first in the list.
  if (data.cmdBufLabelCount != 0 && data.pCmdBufLabels[0].pLabelName != nullptr)
    text += std::string(" (in the pass '") + data.pCmdBufLabels[0].pLabelName + "')";
  return text;
}

// Messages of the validation layer are errors, whatever their severity, since heed should cause none. Messages of the loader about other
// drivers and layers are ignored.
VkBool32 Instance::on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT types,
                              const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  const auto* self = static_cast<const Instance*>(user);
  const bool general = types == VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT;
  log(self->log_, general ? LogLevel::Debug : LogLevel::Error,
      std::string(general ? "loader: " : "validation: ") + text_of(*data));
  return VK_FALSE;
}

std::unique_ptr<Instance> Instance::create(const InstanceOptions& options) {
  const PFN_vkGetInstanceProcAddr get = find_loader(options.loader);
  if (get == nullptr) {
    log(options.log, LogLevel::Info, "Vulkan: no loader on this machine");
    return nullptr;
  }
  std::unique_ptr<Instance> instance(new Instance);
  instance->log_ = options.log;
  if (const char* missing = load_global_functions(get, &instance->functions_)) {
    log(options.log, LogLevel::Info, format("Vulkan: the loader has no %s, so it is older than 1.1", missing));
    return nullptr;
  }
  const VkResult result = instance->create_handle(options);
  if (result != VK_SUCCESS) {
    log(options.log, LogLevel::Info, format("Vulkan: vkCreateInstance: %s", to_string(result)));
    return nullptr;
  }
  if (const char* missing =
          load_instance_functions(instance->instance_, instance->debug_utils_, &instance->functions_)) {
    log(options.log, LogLevel::Info, format("Vulkan: the loader has no %s", missing));
    return nullptr;
  }
  load_extension_functions(instance->instance_, &instance->functions_);
  instance->create_messenger();
  return instance;
}

VkResult Instance::create_handle(const InstanceOptions& options) {
  uint32_t loader_version = VK_API_VERSION_1_0;
  functions_.EnumerateInstanceVersion(&loader_version);
  if (loader_version < VK_API_VERSION_1_1) return VK_ERROR_INCOMPATIBLE_DRIVER;
  api_version_ = std::min<uint32_t>(loader_version, VK_API_VERSION_1_3);

  validation_ = options.validation && has_layer(functions_, kValidationLayer);
  if (options.validation && !validation_)
    log(options.log, LogLevel::Warning, format("Vulkan: %s is not installed; running without it", kValidationLayer));

  std::vector<const char*> extensions;
  const auto common = instance_extensions(functions_, nullptr);
  const auto of_layer =
      validation_ ? instance_extensions(functions_, kValidationLayer) : std::vector<VkExtensionProperties>();
  debug_utils_ = (options.debug_utils || validation_) && (contains(common, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) ||
                                                          contains(of_layer, VK_EXT_DEBUG_UTILS_EXTENSION_NAME));
  if (debug_utils_) extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  const bool features = contains(of_layer, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
  if (features) extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
  const bool settings = LayerSettings::are_taken(of_layer);
  if (settings) extensions.push_back(LayerSettings::kExtension);
  const bool portability = contains(common, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
  if (portability) extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);

  const VkValidationFeatureEnableEXT enabled[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  auto validation_features = structure<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
  validation_features.enabledValidationFeatureCount = 1;
  validation_features.pEnabledValidationFeatures = enabled;
  LayerSettings layer_settings;
  const void* of_validation = features ? &validation_features : nullptr;
  if (settings) of_validation = layer_settings.chain(of_validation);
  // In the chain, it also covers vkCreateInstance and vkDestroyInstance.
  VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(on_message, this);
  messenger.pNext = of_validation;

  auto application = structure<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pEngineName = "heed";
  application.apiVersion = api_version_;
  auto info = structure<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.flags = portability ? VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR : 0;
  info.pNext = validation_ && debug_utils_ ? &messenger : of_validation;
  info.pApplicationInfo = &application;
  info.enabledLayerCount = validation_ ? 1 : 0;
  info.ppEnabledLayerNames = &kValidationLayer;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  const VkResult result = functions_.CreateInstance(&info, nullptr, &instance_);
  if (result == VK_SUCCESS && validation_)
    log(options.log, LogLevel::Info,
        format("Vulkan: %s is on, %s synchronization validation", kValidationLayer, features ? "with" : "without"));
  return result;
}

void Instance::create_messenger() {
  if (!validation_ || functions_.CreateDebugUtilsMessengerEXT == nullptr) return;
  const VkDebugUtilsMessengerCreateInfoEXT info = messenger_info(on_message, this);
  const VkResult result = functions_.CreateDebugUtilsMessengerEXT(instance_, &info, nullptr, &messenger_);
  if (result != VK_SUCCESS)
    log(log_, LogLevel::Error, format("validation: vkCreateDebugUtilsMessengerEXT: %s", to_string(result)));
}

Instance::~Instance() {
  if (messenger_ != VK_NULL_HANDLE) functions_.DestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  // Without an instance there is nothing else to destroy.
  if (instance_ != VK_NULL_HANDLE && functions_.DestroyInstance != nullptr)
    functions_.DestroyInstance(instance_, nullptr);
}

std::vector<VkPhysicalDevice> Instance::physical_devices() const {
  uint32_t count = 0;
  if (functions_.EnumeratePhysicalDevices(instance_, &count, nullptr) < 0) return {};
  std::vector<VkPhysicalDevice> devices(count);
  if (functions_.EnumeratePhysicalDevices(instance_, &count, devices.data()) < 0) return {};
  devices.resize(count);
  return devices;
}

}  // namespace heed::vulkan
