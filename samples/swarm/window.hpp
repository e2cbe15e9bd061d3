// A GLFW window and its swapchain.
#pragma once

#include <functional>
#include <memory>

#include "canvas.hpp"

struct GLFWwindow;

namespace swarm {

// GLFW and its window. Throws Failure if there is no display.
class Display {
 public:
  explicit Display(VkExtent2D size);
  ~Display();
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  std::vector<const char*> instance_extensions() const;
  VkSurfaceKHR make_surface(VkInstance instance) const;
  GLFWwindow* handle() const { return window_; }
  VkExtent2D pixels() const;  // 0 x 0 while minimized

 private:
  GLFWwindow* window_ = nullptr;
};

// The images that the window displays. A canvas draws into them.
class Swapchain {
 public:
  Swapchain(const Gpu& gpu, const Display& display);
  ~Swapchain();

  Canvas& canvas() { return canvas_; }
  bool bgra() const { return bgra_; }
  // Acquires the next image to draw into, with the semaphores to wait for and to signal. Returns false if nothing can be drawn, since the
  // window is minimized or has just changed its size.
  struct Next {
    uint32_t index = 0;
    VkSemaphore ready = VK_NULL_HANDLE, drawn = VK_NULL_HANDLE;
  };
  bool next(Next* next);
  void show(const Next& next);
  // Allows saving a picture of the window before it is displayed.
  VkImage image(uint32_t index) const { return images_[index]; }
  bool can_copy() const { return can_copy_; }

 private:
  void rebuild();

  const Gpu& gpu_;
  const Display& display_;
  VkSurfaceFormatKHR format_{};
  bool bgra_ = false, can_copy_ = false, stale_ = true;
  Canvas canvas_;
  Owned<VkSwapchainKHR> handle_;
  std::vector<VkImage> images_;
  std::vector<Owned<VkImageView>> views_;
  // There is one `drawn` per image, which is free when that image is acquired again, and one more `ready` than frames in flight.
  std::vector<Owned<VkSemaphore>> drawn_, ready_;
  size_t turn_ = 0;
};

}  // namespace swarm
