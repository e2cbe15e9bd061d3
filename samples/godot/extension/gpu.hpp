// Gpu: Godot's VkDevice behind a RenderingDevice, as heed may use it. It knows what Godot 4 does differently from what its
// documentation says (samples/godot/README.md lists it), so that nothing else of the extension must.
//
// The thread of a Gpu is the one on which its RenderingDevice may be called: Godot's render thread, or for a local one the thread
// that made it.
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
  // The one that others hold for this RenderingDevice already, or a new one. Null: *why says in a sentence why heed cannot use it.
  // For the main RenderingDevice it may be called from any thread, and waits for the render thread.
  static std::shared_ptr<Gpu> of(godot::Object rendering_device, std::string* why);
  // The RenderingDevice that Godot draws with. Null: this renderer has none.
  static godot::Object main_device();
  // Both are called before the library's code goes away. From the first on, nobody waits for the render thread any more, and submissions fail;
  // from the second on, nothing that is left of any Gpu calls Vulkan.
  static void begin_to_close();
  static void close_all();

  explicit Gpu(godot::Object rendering_device);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  // For calls on the Gpu's thread. What others submit by `background` waits for that thread, so that the two are apart.
  heed::Device& device() { return device_; }
  // For a thread of heed's own, which waits whenever it submits. Not of local RenderingDevices.
  heed::Device& background() { return background_; }
  const VulkanCalls& calls() const { return calls_; }
  const heed::vulkan::HostDevice& host() const { return host_; }
  bool is_local() const { return is_local_; }
  bool is_software() const { return is_software_; }

  // False: the RenderingDevice was freed, or its VkDevice is lost, or the extension ends. Whoever destroys something that lives on
  // the device asks this before, so that heed hears of a device that is gone.
  bool is_alive();
  // Why it is not alive, and what to do, as a sentence.
  std::string problem() const;
  // From now on, submissions fail as on a device that the driver lost.
  void simulate_loss() { is_loss_asked_ = true; }
  void note(heed::Status status) {
    if (status == heed::Status::DeviceLost) is_lost_ = true;
  }

  // Calls the function on the Gpu's thread: at once if that is the caller's, else before the next frame is drawn. False: it is not
  // called, since a local RenderingDevice has another thread.
  bool post(std::function<void()> function);
  // The same, and waits for its end. False, too, if the render thread does not answer within ten seconds, since it may be the one
  // that waits for the caller. A thread of heed's own, for which nobody waits, may be patient.
  bool run(std::function<void()> function, bool is_patient = false);
  // Why either gave false, or why it is not alive, and what to do, as a sentence.
  std::string refusal();

  // All of these on the Gpu's thread.
  // Zero-filled, or with these bytes, which are on the GPU when the call returns. None: Godot refused.
  godot::Rid create_buffer(const godot::Bytes& bytes);
  godot::Bytes read_buffer(godot::Rid buffer);  // waits for the GPU
  void free_buffer(godot::Rid buffer);
  // Its handle and exact size. False: there is no such buffer. What Godot still holds back of a buffer's contents is
  // brought to the GPU when it is asked for the first time, which waits.
  bool find_buffer(godot::Rid buffer, heed::vulkan::Buffer* found);

  // Submits from any thread, and returns when it is done.
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
  std::mutex mutex_;                      // of what follows
  std::unordered_set<uint64_t> arrived_;  // buffers whose contents are on the GPU
  heed::Device device_, background_;
};
