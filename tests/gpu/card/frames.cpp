// Frame times of a renderer with a fixed load of drawing, in which characters are silent or speak.
//   heed_frames DEVICE SECONDS [--size WxH] [--layers N] [--budget MS] [--work NAME] ROW...
//   SECONDS    of each row, after half a second of warm-up
//   --size     of the picture (1920x1080); --layers: full-screen layers of each frame (default: as many as take kDrawing)
//   --budget   heed's GPU milliseconds in each frame (2); --work: the work that computes a character's token (smollm2 q4_1)
//   ROW        silent: frames draw, and nothing else
//              heed:   each frame has the next part of a token within the budget; kCharacters characters take turns
//              whole:  each frame has a whole token
//              beside: like silent, while another process speaks
// A frame is one command buffer on one queue, as in games; two are in flight. Prints lines of CSV: row, layers, frames; median, 99th
// percentile and longest milliseconds between the begins of two frames by the host's clock; and tokens a second.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <heed/vulkan_frames.hpp>
#include <limits>
#include <string>

#include "gpu/card/resident.hpp"
#include "gpu/card/scene.hpp"

namespace heed::gpu_tests {
namespace {

using vulkan::structure;
using Clock = std::chrono::steady_clock;

constexpr double kDrawing = 8;  // milliseconds, half of a frame at 60 Hz
constexpr double kWarmUp = 0.5;
constexpr uint32_t kInFlight = 2, kSlots = kInFlight + 1, kCharacters = 4;
constexpr uint32_t kMostLayers = 1 << 16;

struct Options {
  double seconds = 0, budget = 2;
  VkExtent2D size = {1920, 1080};
  uint32_t layers = 0;
  std::string work = "smollm2 q4_1";
  std::vector<std::string> rows;
};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Generates tokens for several characters in turn, each with its own State.
class Speech {
 public:
  Speech(Device& device, const Work& work) : device_(device), operands_(device, work) {}

  Status prepare() {
    Status status = operands_.make();
    const CompileOptions options = {.timestamps = true, .record_slots = kSlots};
    if (status == Status::Ok) status = device_.compile(operands_.graph(), operands_.weights(), &plan_, options);
    for (State& state : states_)
      if (status == Status::Ok && !operands_.graph().data().states.empty()) status = plan_.make_state(&state);
    buffers_ = operands_.bound();
    return status;
  }

  // Records the next part of a token. A slot is reused after kSlots tokens, and so after at least as many frames.
  Status record(VkCommandBuffer commands, double budget) {
    if (cursor_.done()) ++tokens_, cursor_ = {};
    return vulkan::record_some(plan_, commands,
                               {.buffers = buffers_,
                                .extents = operands_.work().extents,
                                .slot = static_cast<uint32_t>(tokens_ % kSlots),
                                .state = states_[tokens_ % kCharacters]},
                               budget, &cursor_);
  }
  uint64_t tokens() const { return tokens_ + (cursor_.done() ? 1 : 0); }

 private:
  Device& device_;
  Operands operands_;
  Plan plan_;
  State states_[kCharacters];
  std::vector<vulkan::Buffer> buffers_;
  vulkan::Cursor cursor_;
  uint64_t tokens_ = 0;  // begun before the current one
};

class Frames {
 public:
  Frames(Device& device, const Options& options, const Work& work)
      : context_(context_of(device)), options_(options), scene_(context_), speech_(device, work) {}
  ~Frames();
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  Status run();

 private:
  struct InFlight {
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    bool pending = false;
  };

  Status create();
  Status wait(InFlight& frame);
  Status frame(uint32_t layers, double budget);
  Status calibrate();
  Status measure(const std::string& row);

  vulkan::Context& context_;
  const Options& options_;
  Scene scene_;
  Speech speech_;
  InFlight frames_[kInFlight];
  uint64_t number_ = 0;
  uint32_t layers_ = 0;
};

Frames::~Frames() {
  for (InFlight& one : frames_) {
    if (wait(one) != Status::Ok) continue;
    if (one.fence != VK_NULL_HANDLE) context_.vk.DestroyFence(context_.device, one.fence, nullptr);
    if (one.pool != VK_NULL_HANDLE) context_.vk.DestroyCommandPool(context_.device, one.pool, nullptr);
  }
}

Status Frames::create() {
  for (InFlight& one : frames_) {
    auto pools = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pools.queueFamilyIndex = context_.queue_family;
    Status status = context_.check("vkCreateCommandPool",
                                   context_.vk.CreateCommandPool(context_.device, &pools, nullptr, &one.pool));
    if (status != Status::Ok) return status;
    auto info = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    info.commandPool = one.pool;
    info.commandBufferCount = 1;
    status = context_.check("vkAllocateCommandBuffers",
                            context_.vk.AllocateCommandBuffers(context_.device, &info, &one.commands));
    const auto fences = structure<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    if (status == Status::Ok)
      status = context_.check("vkCreateFence", context_.vk.CreateFence(context_.device, &fences, nullptr, &one.fence));
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

Status Frames::wait(InFlight& one) {
  if (!one.pending) return Status::Ok;
  Status status =
      context_.check("vkWaitForFences", context_.vk.WaitForFences(context_.device, 1, &one.fence, VK_TRUE, UINT64_MAX));
  if (status == Status::Ok)
    status = context_.check("vkResetFences", context_.vk.ResetFences(context_.device, 1, &one.fence));
  one.pending = status != Status::Ok;
  return status;
}

// `budget` 0 means that nobody speaks.
Status Frames::frame(uint32_t layers, double budget) {
  const vulkan::Functions& vk = context_.vk;
  InFlight& one = frames_[number_++ % kInFlight];
  Status status = wait(one);
  if (status == Status::Ok)
    status = context_.check("vkResetCommandPool", vk.ResetCommandPool(context_.device, one.pool, 0));
  auto begin = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  if (status == Status::Ok)
    status = context_.check("vkBeginCommandBuffer", vk.BeginCommandBuffer(one.commands, &begin));
  if (status == Status::Ok && budget > 0) status = speech_.record(one.commands, budget);
  if (status != Status::Ok) return status;
  scene_.draw(one.commands, layers);
  status = context_.check("vkEndCommandBuffer", vk.EndCommandBuffer(one.commands));
  auto submit = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &one.commands;
  if (status == Status::Ok)
    status = context_.check("vkQueueSubmit", vk.QueueSubmit(context_.queue, 1, &submit, one.fence));
  one.pending = status == Status::Ok;
  return status;
}

// Finds how many layers take kDrawing milliseconds.
Status Frames::calibrate() {
  for (layers_ = 1;; layers_ *= 2) {
    constexpr int kFrames = 8;
    Clock::time_point begin;
    for (int i = 0; i < kFrames + 4; ++i) {
      if (i == 4) begin = Clock::now();
      const Status status = frame(layers_, 0);
      if (status != Status::Ok) return status;
    }
    const double each = 1e3 * seconds_since(begin) / kFrames;
    if (each < kDrawing / 2 && layers_ < kMostLayers) continue;
    layers_ = static_cast<uint32_t>(std::max(1.0, std::round(layers_ * std::min(1.0, kDrawing / each))));
    return Status::Ok;
  }
}

Status Frames::measure(const std::string& row) {
  const double budget = row == "heed" ? options_.budget : row == "whole" ? std::numeric_limits<double>::infinity() : 0;
  std::vector<double> ms;
  const Clock::time_point start = Clock::now();
  Clock::time_point before = start;
  uint64_t tokens = 0;
  double measured = 0;
  for (double spent = 0; spent < kWarmUp + options_.seconds || ms.empty(); spent = seconds_since(start)) {
    const Status status = frame(layers_, budget);
    if (status != Status::Ok) return status;
    const Clock::time_point now = Clock::now();
    const double took = std::chrono::duration<double, std::milli>(now - before).count();
    before = now;
    if (spent < kWarmUp) {
      tokens = speech_.tokens();
      continue;
    }
    ms.push_back(took);
    measured += took;
  }
  std::sort(ms.begin(), ms.end());
  const auto at = [&](double share) { return ms[static_cast<size_t>(share * static_cast<double>(ms.size() - 1))]; };
  std::printf("%s,%u,%zu,%.3f,%.3f,%.3f,%.1f\n", row.c_str(), layers_, ms.size(), at(0.5), at(0.99), ms.back(),
              static_cast<double>(speech_.tokens() - tokens) / (1e-3 * measured));
  std::fflush(stdout);
  return Status::Ok;
}

Status Frames::run() {
  Status status = scene_.create(options_.size);
  if (status == Status::Ok) status = create();
  if (status == Status::Ok) status = speech_.prepare();
  layers_ = options_.layers;
  if (status == Status::Ok && layers_ == 0) status = calibrate();
  std::printf("row,layers,frames,median,p99,worst,tokens\n");
  for (const std::string& row : options_.rows)
    if (status == Status::Ok) status = measure(row);
  return status;
}

int usage() {
  std::fprintf(stderr,
               "usage: heed_frames DEVICE SECONDS [--size WxH] [--layers N] [--budget MS] [--work NAME] ROW...\n"
               "ROW: silent, heed, whole or beside\n");
  return 2;
}

bool read(int argc, char** argv, Options* options) {
  options->seconds = std::atof(argv[2]);
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "silent" || word == "heed" || word == "whole" || word == "beside") {
      options->rows.push_back(word);
      continue;
    }
    if (++i == argc) return false;
    if (word == "--layers")
      options->layers = static_cast<uint32_t>(std::atoi(argv[i]));
    else if (word == "--budget")
      options->budget = std::atof(argv[i]);
    else if (word == "--work")
      options->work = argv[i];
    else if (word != "--size" || std::sscanf(argv[i], "%ux%u", &options->size.width, &options->size.height) != 2)
      return false;
  }
  return !options->rows.empty() && options->seconds > 0 && options->size.width > 0 && options->size.height > 0;
}

int run(int argc, char** argv) {
  Options options;
  if (argc < 4 || !read(argc, argv, &options)) return usage();
  const auto work =
      std::find_if(works().begin(), works().end(), [&](const Work& one) { return one.name == options.work; });
  if (work == works().end()) {
    std::fprintf(stderr, "there is no work '%s'\n", options.work.c_str());
    return 2;
  }
  Device device;
  if (Device::open({.select = argv[1], .log = stderr_log()}, &device) != Status::Ok) return 1;
  if (device.info().kind == DeviceKind::Cpu) {
    std::fprintf(stderr, "%s is no Vulkan device\n", device.info().word.c_str());
    return 2;
  }
  std::fprintf(stderr, "%s, %s\n", device.info().name.c_str(), device.info().driver.c_str());
  const Status status = Frames(device, options, *work).run();
  if (status == Status::Ok) return 0;
  std::fprintf(stderr, "frames: %s\n", to_string(status));
  return 1;
}

}  // namespace
}  // namespace heed::gpu_tests

int main(int argc, char** argv) { return heed::gpu_tests::run(argc, argv); }
