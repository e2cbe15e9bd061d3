#include "window.hpp"

#include <GLFW/glfw3.h>

#include <algorithm>

#include "bindings.hpp"

namespace swarm {
namespace {

std::string glfw_error() {
  const char* text = nullptr;
  glfwGetError(&text);
  return text != nullptr ? text : "unknown";
}

VkSurfaceFormatKHR choose_format(const Gpu& gpu) {
  uint32_t count = 0;
  vkGetPhysicalDeviceSurfaceFormatsKHR(gpu.physical, gpu.surface, &count, nullptr);
  std::vector<VkSurfaceFormatKHR> all(count);
  vkGetPhysicalDeviceSurfaceFormatsKHR(gpu.physical, gpu.surface, &count, all.data());
  // Shaders output linear colours, so that the image's format must convert them to sRGB.
  for (const VkFormat wanted : {VK_FORMAT_B8G8R8A8_SRGB, VK_FORMAT_R8G8B8A8_SRGB})
    for (const VkSurfaceFormatKHR& format : all)
      if (format.format == wanted && format.colorSpace == VK_COLOR_SPACE_SRGB_NONLINEAR_KHR) return format;
  throw Failure("the window supports no sRGB images");
}

Owned<VkSemaphore> make_semaphore(const Gpu& gpu) {
  const auto info = structure<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  VkSemaphore handle;
  check(vkCreateSemaphore(gpu.device, &info, nullptr, &handle), "vkCreateSemaphore");
  return {gpu.device, handle, vkDestroySemaphore};
}

}  // namespace

Display::Display(VkExtent2D size) {
  if (glfwInit() != GLFW_TRUE)
    throw Failure("there is no display to open a window on (" + glfw_error() + "); try --headless --png out.png");
  if (glfwVulkanSupported() != GLFW_TRUE) {
    glfwTerminate();
    throw Failure("Vulkan cannot draw into a window here; try --headless --png out.png");
  }
  glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
  window_ = glfwCreateWindow(static_cast<int>(size.width), static_cast<int>(size.height), "swarm", nullptr, nullptr);
  if (window_ != nullptr) return;
  const std::string why = glfw_error();
  glfwTerminate();
  throw Failure("cannot open a window: " + why);
}

Display::~Display() {
  glfwDestroyWindow(window_);
  glfwTerminate();
}

std::vector<const char*> Display::instance_extensions() const {
  uint32_t count = 0;
  const char** names = glfwGetRequiredInstanceExtensions(&count);
  return {names, names + count};
}

VkSurfaceKHR Display::make_surface(VkInstance instance) const {
  VkSurfaceKHR surface;
  check(glfwCreateWindowSurface(instance, window_, nullptr, &surface), "glfwCreateWindowSurface");
  return surface;
}

VkExtent2D Display::pixels() const {
  int width = 0, height = 0;
  glfwGetFramebufferSize(window_, &width, &height);
  return {static_cast<uint32_t>(width), static_cast<uint32_t>(height)};
}

Swapchain::Swapchain(const Gpu& gpu, const Display& display)
    : gpu_(gpu),
      display_(display),
      format_(choose_format(gpu)),
      bgra_(format_.format == VK_FORMAT_B8G8R8A8_SRGB),
      canvas_(gpu, format_.format, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR) {
  for (uint32_t i = 0; i < kSlots + 1; ++i) ready_.push_back(make_semaphore(gpu));
}

Swapchain::~Swapchain() { vkDeviceWaitIdle(gpu_.device); }

void Swapchain::rebuild() {
  VkSurfaceCapabilitiesKHR can;
  check(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(gpu_.physical, gpu_.surface, &can),
        "vkGetPhysicalDeviceSurfaceCapabilitiesKHR");
  VkExtent2D size = can.currentExtent;
  if (size.width == UINT32_MAX) size = display_.pixels();
  size.width = std::clamp(size.width, can.minImageExtent.width, can.maxImageExtent.width);
  size.height = std::clamp(size.height, can.minImageExtent.height, can.maxImageExtent.height);
  if (size.width == 0 || size.height == 0) return;
  check(vkDeviceWaitIdle(gpu_.device), "vkDeviceWaitIdle");

  can_copy_ = (can.supportedUsageFlags & VK_IMAGE_USAGE_TRANSFER_SRC_BIT) != 0;
  auto info = structure<VkSwapchainCreateInfoKHR>(VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR);
  info.surface = gpu_.surface;
  info.minImageCount = std::max(3u, can.minImageCount);
  if (can.maxImageCount != 0) info.minImageCount = std::min(info.minImageCount, can.maxImageCount);
  info.imageFormat = format_.format;
  info.imageColorSpace = format_.colorSpace;
  info.imageExtent = size;
  info.imageArrayLayers = 1;
  info.imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
  if (can_copy_) info.imageUsage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
  info.preTransform = can.currentTransform;
  info.compositeAlpha = (can.supportedCompositeAlpha & VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR) != 0
                            ? VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR
                            : VK_COMPOSITE_ALPHA_INHERIT_BIT_KHR;
  info.presentMode = VK_PRESENT_MODE_FIFO_KHR;
  info.clipped = VK_TRUE;
  info.oldSwapchain = handle_;
  VkSwapchainKHR handle;
  check(vkCreateSwapchainKHR(gpu_.device, &info, nullptr, &handle), "vkCreateSwapchainKHR");
  views_.clear();
  handle_ = {gpu_.device, handle, vkDestroySwapchainKHR};

  uint32_t count = 0;
  check(vkGetSwapchainImagesKHR(gpu_.device, handle, &count, nullptr), "vkGetSwapchainImagesKHR");
  images_.resize(count);
  check(vkGetSwapchainImagesKHR(gpu_.device, handle, &count, images_.data()), "vkGetSwapchainImagesKHR");
  std::vector<VkImageView> views;
  drawn_.clear();
  for (VkImage image : images_) {
    views_.push_back(make_view(gpu_, image, format_.format, VK_IMAGE_ASPECT_COLOR_BIT));
    views.push_back(views_.back());
    drawn_.push_back(make_semaphore(gpu_));
  }
  canvas_.resize(size, views);
  stale_ = false;
}

bool Swapchain::next(Next* next) {
  if (stale_) rebuild();
  if (stale_) return false;
  turn_ = (turn_ + 1) % ready_.size();
  next->ready = ready_[turn_];
  const VkResult result =
      vkAcquireNextImageKHR(gpu_.device, handle_, UINT64_MAX, next->ready, VK_NULL_HANDLE, &next->index);
  stale_ = result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_SUBOPTIMAL_KHR;
  if (result == VK_ERROR_OUT_OF_DATE_KHR) return false;
  check(result, "vkAcquireNextImageKHR");
  next->drawn = drawn_[next->index];
  return true;
}

void Swapchain::show(const Next& next) {
  auto info = structure<VkPresentInfoKHR>(VK_STRUCTURE_TYPE_PRESENT_INFO_KHR);
  info.waitSemaphoreCount = 1;
  info.pWaitSemaphores = &next.drawn;
  info.swapchainCount = 1;
  info.pSwapchains = handle_.address();
  info.pImageIndices = &next.index;
  const VkResult result = vkQueuePresentKHR(gpu_.queue, &info);
  if (result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_SUBOPTIMAL_KHR)
    stale_ = true;
  else
    check(result, "vkQueuePresentKHR");
}

}  // namespace swarm
