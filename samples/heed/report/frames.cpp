// Frames of a program with a fixed GPU load, with and without a model that runs under a budget: in the program's queue, and in a second
// queue.
#include <algorithm>
#include <vector>

#include "report/report.hpp"

#ifdef HEED_BENCH_VULKAN
#include <heed/vulkan_frames.hpp>

#include "bench/prepared.hpp"
#include "clock.hpp"
#include "report/works.hpp"
#include "vulkan/multiply_add.hpp"
#endif

namespace heed::program {

using nlohmann::json;

#ifdef HEED_BENCH_VULKAN

namespace {

constexpr double kLoadSeconds = 0.004, kBudgetMs = 1;
constexpr int kFrames = 120, kFewestFrames = 8, kWarmUp = 4;
constexpr double kMostSecondsOfRow = 4;
constexpr VkDeviceSize kMebibyte = VkDeviceSize{1} << 20;

// A model on a queue of the program's device. It runs repeatedly, part by part.
class Guest {
 public:
  Guest(BareDevice& bare, const BareQueue& queue, const Log& log) : bare_(bare), queue_(queue), log_(log) {}
  // After a failure a submission may still use the plan and the buffers.
  ~Guest() { bare_.vk().DeviceWaitIdle(bare_.device()); }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  Status make() {
    Status status = vulkan::adopt({.instance = bare_.instance(),
                                   .physical_device = bare_.physical(),
                                   .device = bare_.device(),
                                   .get_instance_proc_addr = bare_.get_instance_proc_addr(),
                                   .queue_family = queue_.family,
                                   .queue = queue_.queue,
                                   .log = log_},
                                  &device_);
    BenchGraph graph;
    for (const BenchCase& work : report_works())
      if (work.shape == kReportEncoder) work.build(graph);
    Weights weights;
    if (status == Status::Ok) status = upload_for(device_, graph, &weights);
    if (status == Status::Ok) status = device_.compile(graph.graph, weights, &plan_, {.timestamps = true});
    if (status != Status::Ok) return status;
    for (const BenchGraph::Buffer* tensor : {&graph.inputs.front(), &graph.output}) {
      VkBuffer buffer = VK_NULL_HANDLE;
      const VkDeviceSize bytes = tensor->elements() * size_of(tensor->dtype);
      if (bare_.make_buffer(std::max(bytes, kMebibyte), &buffer)) return Status::OutOfDeviceMemory;
      names_.push_back(tensor->name);
      handles_.push_back(buffer);
    }
    for (size_t i = 0; i < names_.size(); ++i) buffers_.push_back({.name = names_[i], .buffer = handles_[i]});
    return Status::Ok;
  }

  Status record(VkCommandBuffer commands) {
    if (cursor_.done()) ++runs_, cursor_ = {};
    return vulkan::record_some(plan_, commands, {.buffers = buffers_}, kBudgetMs, &cursor_);
  }
  int runs() const { return runs_ + (cursor_.done() ? 1 : 0); }

 private:
  BareDevice& bare_;
  const BareQueue& queue_;
  const Log log_;
  Device device_;
  Plan plan_;
  std::vector<std::string> names_;
  std::vector<VkBuffer> handles_;
  std::vector<vulkan::Buffer> buffers_;
  vulkan::Cursor cursor_;
  int runs_ = 0;
};

struct Frames {
  const BareDevice& device;
  const MultiplyAdd& load;
  uint32_t steps = 0;
  const PartContext& context;

  // One frame: the load, and the guest's next part in the same command buffer, or in a command buffer of `beside` that runs concurrently.
  // Returns milliseconds of the frame by the clock, and of the load's command buffer by the GPU.
  Status frame(Guest* guest, const BareQueue* beside, double* by_clock, double* by_gpu) const {
    const BareQueue& queue = device.queues().front();
    Status status = Status::Ok;
    const Clock::time_point start = Clock::now();
    const auto write_guest = [&](VkCommandBuffer commands) {
      status = guest->record(commands);
      return status == Status::Ok;
    };
    const auto write_frame = [&](VkCommandBuffer commands) {
      load.record(commands, steps);
      return guest == nullptr || beside != nullptr || write_guest(commands);
    };
    if (beside != nullptr && !(device.record(*beside, write_guest) && device.submit(*beside)))
      return status != Status::Ok ? status : Status::DeviceLost;
    if (!device.record(queue, write_frame) || !device.submit(queue) || !device.wait(queue))
      return status != Status::Ok ? status : Status::DeviceLost;
    if (beside != nullptr && !device.wait(*beside)) return Status::DeviceLost;
    *by_clock = milliseconds_since(start);
    *by_gpu = device.gpu_seconds(queue) * 1e3;
    return Status::Ok;
  }

  Status row(const char* name, Guest* guest, const BareQueue* beside, json* rows) const {
    std::vector<double> clock, gpu;
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kFrames + kWarmUp; ++i) {
      if (i >= kFewestFrames && (context.is_late() || milliseconds_since(start) > kMostSecondsOfRow * 1e3)) break;
      double by_clock = 0, by_gpu = 0;
      const Status status = frame(guest, beside, &by_clock, &by_gpu);
      if (status != Status::Ok) return status;
      if (i < kWarmUp) continue;
      clock.push_back(by_clock);
      gpu.push_back(by_gpu);
    }
    const auto summary = [](std::vector<double>& all) {
      std::sort(all.begin(), all.end());
      const auto at = [&](double share) {
        return all[static_cast<size_t>(share * static_cast<double>(all.size() - 1))];
      };
      return json{{"median", at(0.5)}, {"p99", at(0.99)}, {"worst", all.back()}};
    };
    const uint32_t family = beside != nullptr ? beside->family : device.queues().front().family;
    json one = {{"row", name}, {"queue_family", family}, {"frames", clock.size()}, {"clock_ms", summary(clock)}};
    if (gpu.front() > 0) one["gpu_ms"] = summary(gpu);
    if (guest != nullptr) one["runs"] = guest->runs();
    rows->push_back(std::move(one));
    return Status::Ok;
  }
};

}  // namespace

json frames_part(const PartContext& context) {
  if (context.info.kind == DeviceKind::Cpu) return {{"state", "left out"}, {"reason", "the CPU draws no frames"}};
  BareDevice device;
  MultiplyAdd load(device);
  VkBuffer sink = VK_NULL_HANDLE;
  const char* failed = device.open(context.info);
  if (!failed) failed = device.make_buffer(kMebibyte, &sink);
  if (!failed) failed = load.make(sink);
  if (failed) return {{"state", "failed"}, {"reason", std::string(failed) + " failed"}};
  const Frames frames = {device, load, load.steps_for(kLoadSeconds), context};
  if (frames.steps == 0) return {{"state", "device lost"}, {"reason", "a submission failed"}};

  json part = {{"state", "passed"}, {"load_ms", kLoadSeconds * 1e3}, {"budget_ms", kBudgetMs}};
  json rows = json::array();
  goldens::Messages messages;
  Status status = frames.row("load alone", nullptr, nullptr, &rows);
  {
    Guest guest(device, device.queues().front(), messages.log());
    if (status == Status::Ok) status = guest.make();
    if (status == Status::Ok) status = frames.row("model in the load's queue", &guest, nullptr, &rows);
  }
  if (device.queues().size() > 1) {
    Guest guest(device, device.queues()[1], messages.log());
    if (status == Status::Ok) status = guest.make();
    if (status == Status::Ok) status = frames.row("model in a queue beside it", &guest, &device.queues()[1], &rows);
  }
  if (status != Status::Ok) part.update(failed_part(status, messages));
  part["rows"] = std::move(rows);
  return part;
}

#else

json frames_part(const PartContext&) {
  return {{"state", "left out"}, {"reason", "this program was built without Vulkan"}};
}

#endif

}  // namespace heed::program
