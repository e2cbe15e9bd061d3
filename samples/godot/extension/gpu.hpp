// Gpu: Godot's VkDevice behind a RenderingDevice, for heed's use. It handles Godot's deviations from its documentation
// (samples/godot/issues.md lists them), so that no other part of the extension must.
//
// A Gpu's thread is the one that may call its RenderingDevice: Godot's render thread, or for a local one the thread that made it.
#pragma once

#include <heed/device.hpp>
#include <heed/vulkan.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>

#include "godot.hpp"
#include "vulkan_calls.hpp"

class Gpu {
 public:
  // The existing Gpu of this RenderingDevice, or a new one. Returns null, with a sentence in *why, if heed cannot use it. For the main
  // RenderingDevice any thread may call it; it waits for the render thread.
  static std::shared_ptr<Gpu> of(godot::Object rendering_device, std::string* why);
  // The RenderingDevice that Godot draws with; null if this renderer has none.
  static godot::Object main_device();
  // Call both before the library is unloaded. After the first, nobody waits for the render thread any more, and submissions fail. After the
  // second, no remaining Gpu calls Vulkan.
  static void begin_to_close();
  static void close_all();

  explicit Gpu(godot::Object rendering_device);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  // For calls on the Gpu's thread. Submissions by `background` wait for that thread, which is why there are two.
  heed::Device& device() { return device_; }
  // For a thread of heed's own, which waits at each submission. Not for local RenderingDevices.
  heed::Device& background() { return background_; }
  const VulkanCalls& calls() const { return calls_; }
  const heed::vulkan::HostDevice& host() const { return host_; }
  bool is_local() const { return is_local_; }
  bool is_software() const { return is_software_; }

  // False if the RenderingDevice was freed, its VkDevice is lost, or the extension ends. Check this before destroying an object on the
  // device, so that heed learns of a lost device first.
  bool is_alive();
  // Why it is not alive, and what to do, as a sentence.
  std::string problem() const;
  // Makes further submissions fail as on a lost device.
  void simulate_loss() { is_loss_asked_ = true; }
  void note(heed::Status status) {
    if (status == heed::Status::DeviceLost) is_lost_ = true;
  }

  // Calls the function on the Gpu's thread: at once if the caller is that thread, else before the next frame is drawn. Returns false,
  // without a call, if a local RenderingDevice has another thread.
  bool post(std::function<void()> function);
  // The same, and waits for its end. Also returns false if the render thread does not answer within ten seconds, since it may be waiting
  // for the caller. A thread of heed's own, for which nobody waits, may be patient.
  bool run(std::function<void()> function, bool is_patient = false);
  // Why either returned false, or why it is not alive, and what to do, as a sentence.
  std::string refusal();

  // Call all of these on the Gpu's thread.
  // Creates a buffer of zeros, or of these bytes, which are on the GPU when the call returns. Returns none if Godot refused.
  godot::Rid create_buffer(const godot::Bytes& bytes);
  godot::Bytes read_buffer(godot::Rid buffer);  // waits for the GPU
  void free_buffer(godot::Rid buffer);
  // The buffer's handle and exact size; false if there is no such buffer. The first call for a buffer brings its pending contents to the
  // GPU, which waits.
  bool find_buffer(godot::Rid buffer, heed::vulkan::Buffer* found);

  // Submits from any thread, and returns when the work has finished.
  VkResult submit(const VkSubmitInfo& info, VkFence fence);

 private:
  bool adopt(std::string* why);
  uint64_t resource(int64_t which, godot::Rid of = {}) const;
  bool owns_this_thread() const;
  VkResult submit_here(const VkSubmitInfo& info, VkFence fence);
  const uint64_t* buffer_words(godot::Rid buffer) const;

  const godot::Weak rendering_device_;
  const bool is_local_;
  const std::thread::id maker_ = std::this_thread::get_id();
  bool is_software_ = false;
  std::atomic<bool> is_loss_asked_ = false, is_lost_ = false, is_gone_ = false;
  heed::vulkan::HostDevice host_;
  VulkanCalls calls_;
  std::mutex mutex_;                      // protects the following
  std::unordered_set<uint64_t> arrived_;  // buffers whose contents are on the GPU
  heed::Device device_, background_;
};
