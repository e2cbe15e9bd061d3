#include "gpu.hpp"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <list>
#include <utility>

namespace {

// RenderingDevice.DriverResource
enum DriverResource : int64_t {
  kDevice = 0,
  kPhysicalDevice = 1,
  kInstance = 2,
  kQueue = 3,
  kQueueFamily = 4,
  kBuffer = 10
};

// Versions of Godot whose buffers were examined.
constexpr uint32_t kMajor = 4, kFirstMinor = 4, kLastMinor = 6;

// Godot returns the address of this struct in place of a VkBuffer: the handle, an allocation, its size, and the requested size, rounded up.
enum BufferWord : size_t { kHandle = 0, kBytes = 3 };

std::atomic<bool> is_closing = false, is_closed = false;
std::mutex all_mutex;
std::list<std::pair<godot::Weak, std::weak_ptr<Gpu>>>& all() {
  static std::list<std::pair<godot::Weak, std::weak_ptr<Gpu>>> list;
  return list;
}

// A call on the render thread for which a caller waits. The caller may cancel it before it begins.
class Call {
 public:
  explicit Call(std::function<void()> function) : function_(std::move(function)) {}
  void make() {
    {
      const std::lock_guard lock(mutex_);
      if (stage_ == Stage::GivenUp) return;
      stage_ = Stage::Begun;
    }
    std::exception_ptr thrown;
    try {
      function_();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    thrown_ = thrown;
    stage_ = Stage::Over;
    changed_.notify_all();
  }
  // Returns false if it was cancelled. Throws what the call threw.
  bool wait(std::chrono::seconds most) {
    std::unique_lock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + most;
    while (stage_ == Stage::Waiting) {
      changed_.wait_for(lock, std::chrono::milliseconds(20));
      if (stage_ == Stage::Waiting && (is_closing || std::chrono::steady_clock::now() >= end)) {
        stage_ = Stage::GivenUp;
        return false;
      }
    }
    changed_.wait(lock, [this] { return stage_ == Stage::Over; });
    if (thrown_) std::rethrow_exception(thrown_);
    return true;
  }

 private:
  enum class Stage : uint8_t { Waiting, Begun, Over, GivenUp };
  std::mutex mutex_;
  std::condition_variable changed_;
  Stage stage_ = Stage::Waiting;
  std::exception_ptr thrown_;
  std::function<void()> function_;
};

constexpr std::chrono::seconds kPatience{10}, kNoEnd{1'000'000};

}  // namespace

Gpu::Gpu(godot::Object rendering_device)
    : rendering_device_(rendering_device), is_local_(rendering_device != main_device()) {}

std::shared_ptr<Gpu> Gpu::of(godot::Object rendering_device, std::string* why) {
  const godot::Object server = godot::singleton("RenderingServer");
  const std::string driver = godot::call_for<std::string>(server, "get_current_rendering_driver_name");
  if (rendering_device == nullptr) {
    *why = "this renderer has no RenderingDevice (it is the Compatibility renderer, or Godot runs headless)";
    return nullptr;
  }
  if (driver != "vulkan") {
    *why = "Godot draws by " + driver +
           ", and heed needs Vulkan: set rendering/rendering_device/driver to vulkan in the project's settings, or "
           "start with "
           "--rendering-driver vulkan";
    return nullptr;
  }
  const godot::Weak device(rendering_device);
  {
    const std::lock_guard lock(all_mutex);
    std::erase_if(all(), [](const auto& known) { return known.second.expired(); });
    for (const auto& [known, weak] : all())
      if (const auto gpu = weak.lock(); known == device && gpu && gpu->is_alive()) return gpu;
  }
  auto gpu = std::make_shared<Gpu>(rendering_device);
  bool is_adopted = false;
  if (!gpu->run([&] { is_adopted = gpu->adopt(why); })) {
    *why = gpu->refusal();
    return nullptr;
  }
  if (!is_adopted) return nullptr;
  const std::lock_guard lock(all_mutex);
  all().emplace_back(device, gpu);
  return gpu;
}

godot::Object Gpu::main_device() {
  return godot::call_for<godot::Object>(godot::singleton("RenderingServer"), "get_rendering_device");
}

void Gpu::begin_to_close() { is_closing = true; }

void Gpu::close_all() {
  is_closed = true;
  const std::lock_guard lock(all_mutex);
  for (const auto& [device, weak] : all())
    if (const auto gpu = weak.lock()) (void)gpu->is_alive();
}

uint64_t Gpu::resource(int64_t which, godot::Rid of) const {
  return static_cast<uint64_t>(
      godot::call_for<int64_t>(rendering_device_.get(), "get_driver_resource", {which, of, int64_t{0}}));
}

bool Gpu::adopt(std::string* why) {
  host_.instance = reinterpret_cast<VkInstance>(resource(kInstance));
  host_.physical_device = reinterpret_cast<VkPhysicalDevice>(resource(kPhysicalDevice));
  host_.device = reinterpret_cast<VkDevice>(resource(kDevice));
  host_.queue = reinterpret_cast<VkQueue>(resource(kQueue));
  host_.queue_family = static_cast<uint32_t>(resource(kQueueFamily));
  host_.assume_16bit_storage = true;
  host_.log = godot::log();
  host_.queue_access.user = this;
  host_.queue_access.submit = [](void* user, VkQueue, const VkSubmitInfo& info, VkFence fence) {
    return static_cast<Gpu*>(user)->submit(info, fence);
  };
  if (host_.device == VK_NULL_HANDLE || host_.queue == VK_NULL_HANDLE) {
    *why =
        "the RenderingDevice does not tell its Vulkan handles; a local one tells them only to the thread that made it";
    return false;
  }
  const godot::Version version = godot::version();
  if (version.major != kMajor || version.minor < kFirstMinor || version.minor > kLastMinor) {
    *why = "buffers of Godot " + std::to_string(version.major) + "." + std::to_string(version.minor) +
           " are not known to this version of the add-on, which knows 4.4 to 4.6";
    return false;
  }
  constexpr size_t kOdd = 4112;  // a size that no other field of the struct has; Godot rounds up to 16 bytes
  const godot::Rid probe = create_buffer(godot::Bytes(kOdd));
  const uint64_t* words = probe.id == 0 ? nullptr : buffer_words(probe);
  const bool is_known = words != nullptr && words[kBytes] == kOdd;
  if (probe.id != 0) free_buffer(probe);
  if (!is_known) {
    *why = "this build of Godot keeps its buffers in a way that the add-on does not know";
    return false;
  }
  if (!load_vulkan_calls(host_.instance, host_.device, &calls_)) {
    *why = "the Vulkan loader lacks a function";
    return false;
  }
  VkPhysicalDeviceProperties properties{};
  calls_.GetPhysicalDeviceProperties(host_.physical_device, &properties);
  is_software_ = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  heed::Status status = heed::vulkan::adopt(host_, &device_);
  if (status == heed::Status::Ok && !is_local_) status = heed::vulkan::adopt(host_, &background_);
  if (status != heed::Status::Ok)
    *why = std::string("heed cannot compute on Godot's device: ") + heed::to_string(status);
  return status == heed::Status::Ok;
}

bool Gpu::is_alive() {
  if (rendering_device_.get() != nullptr && !is_closed) return !is_lost_;
  const std::lock_guard lock(mutex_);
  if (!is_gone_.exchange(true))
    for (const heed::Device& device : {device_, background_})
      if (device.valid()) (void)heed::vulkan::device_gone(device);
  return false;
}

std::string Gpu::problem() const {
  if (is_gone_)
    return "its RenderingDevice was freed; open a HeedDevice on another one, and what computed on this one anew";
  return "the GPU was lost; call open_cpu() of another HeedDevice, and open what computed on this one there";
}

std::string Gpu::refusal() {
  if (!is_alive()) return problem();
  return is_local_ ? "a local RenderingDevice belongs to the thread that made it; call this there"
                   : "the render thread does not answer; call this where no other thread waits for the caller";
}

bool Gpu::owns_this_thread() const {
  return is_local_ ? std::this_thread::get_id() == maker_ : godot::is_on_render_thread();
}

bool Gpu::post(std::function<void()> function) {
  if (owns_this_thread())
    function();
  else if (is_local_ || is_closing)
    return false;
  else
    godot::call_on_render_thread(std::move(function));
  return true;
}

bool Gpu::run(std::function<void()> function, bool is_patient) {
  const auto call = std::make_shared<Call>(std::move(function));
  return post([call] { call->make(); }) && call->wait(is_patient ? kNoEnd : kPatience);
}

VkResult Gpu::submit_here(const VkSubmitInfo& info, VkFence fence) {
  if (is_loss_asked_) is_lost_ = true;
  if (is_closing || !is_alive()) return VK_ERROR_DEVICE_LOST;
  const VkResult result = calls_.QueueSubmit(host_.queue, 1, &info, fence);
  if (result == VK_ERROR_DEVICE_LOST) is_lost_ = true;
  return result;
}

VkResult Gpu::submit(const VkSubmitInfo& info, VkFence fence) {
  VkResult result = VK_ERROR_DEVICE_LOST;
  const auto call = std::make_shared<Call>([&] { result = submit_here(info, fence); });
  // A worker waits without limit: the main thread may be loading a level. Calls cancelled at the end do not run.
  if (post([call] { call->make(); })) (void)call->wait(kNoEnd);
  return result;
}

const uint64_t* Gpu::buffer_words(godot::Rid buffer) const {
  return reinterpret_cast<const uint64_t*>(resource(kBuffer, buffer));
}

godot::Rid Gpu::create_buffer(const godot::Bytes& bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  const auto buffer = godot::call_for<godot::Rid>(rendering_device_.get(), "storage_buffer_create", {size, bytes});
  heed::vulkan::Buffer found;
  if (buffer.id != 0 && calls_.QueueSubmit != nullptr) (void)find_buffer(buffer, &found);
  return buffer;
}

godot::Bytes Gpu::read_buffer(godot::Rid buffer) {
  return godot::call_for<godot::Bytes>(rendering_device_.get(), "buffer_get_data", {buffer});
}

void Gpu::free_buffer(godot::Rid buffer) { godot::call(rendering_device_.get(), "free_rid", {buffer}); }

bool Gpu::find_buffer(godot::Rid buffer, heed::vulkan::Buffer* found) {
  const uint64_t* words = buffer.id == 0 ? nullptr : buffer_words(buffer);
  if (words == nullptr) return false;
  std::memcpy(&found->buffer, &words[kHandle], sizeof found->buffer);
  found->bytes = words[kBytes];
  {
    const std::lock_guard lock(mutex_);
    if (!arrived_.insert(buffer.id).second) return true;
  }
  // Data passed when the buffer was created stay on the host until Godot's own graph uses the buffer. Reading four bytes is such a use.
  godot::call(rendering_device_.get(), "buffer_get_data", {buffer, int64_t{0}, int64_t{4}});
  return true;
}
