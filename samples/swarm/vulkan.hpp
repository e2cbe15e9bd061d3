// Vulkan for this sample. volk loads the functions, so that the program starts without a Vulkan loader. Handles destroy themselves, and
// errors become exceptions with a message for the player.
#pragma once

#include <volk.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace swarm {

// An error. main prints its text as one line and returns exit code 2.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const char* to_string(VkResult result);

inline void check(VkResult result, const char* call) {
  if (result < 0) throw Failure(std::string(call) + ": " + to_string(result));
}

// A zeroed structure with its type set.
template <class T>
T structure(VkStructureType type) {
  T value{};
  value.sType = type;
  return value;
}

// A handle made from a device. Move-only.
template <class T>
class Owned {
 public:
  using Destroy = void(VKAPI_PTR*)(VkDevice, T, const VkAllocationCallbacks*);
  Owned() = default;
  Owned(VkDevice device, T handle, Destroy destroy) : device_(device), handle_(handle), destroy_(destroy) {}
  Owned(Owned&& other) noexcept { swap(other); }
  Owned& operator=(Owned&& other) noexcept {
    Owned(std::move(other)).swap(*this);
    return *this;
  }
  ~Owned() {
    if (handle_ != VK_NULL_HANDLE) destroy_(device_, handle_, nullptr);
  }
  operator T() const { return handle_; }
  T get() const { return handle_; }
  const T* address() const { return &handle_; }

 private:
  void swap(Owned& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(destroy_, other.destroy_);
  }
  VkDevice device_ = VK_NULL_HANDLE;
  T handle_ = VK_NULL_HANDLE;
  Destroy destroy_ = nullptr;
};

}  // namespace swarm
