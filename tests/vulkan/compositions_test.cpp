// Compositions as a host runs them: each run is recorded into the host's command buffer, with inputs and outputs anywhere in its memory,
// and with scratch that is not cleared.

#include "base/arith.hpp"
#include "harness/setup.hpp"
#include "ops/composition.hpp"
#include "vulkan/host_vulkan.hpp"

namespace heed::test {
namespace {

constexpr int64_t kUsual = 20;
constexpr int kGap = 0x5a;    // bytes between inputs and outputs, which nothing may write
constexpr int kStale = 0xff;  // NaN in every floating-point type

// The offsets of the tensors of all runs in one host buffer.
class Places {
 public:
  Places(HostVulkan& host, const ops::Trial& trial, uint64_t seed) : host_(host), random_(seed) {
    for (const ops::Run& run : trial.runs) {
      for (const auto& input : run.inputs) place(input.name, input.bytes.size());
      for (const ops::Expectation& expected : run.expectations)
        place(expected.name, static_cast<size_t>(expected.reference.size()) * size_of(expected.dtype));
    }
    memory_ = host.allocate(end_);
    std::memset(memory_.mapped, kGap, end_);
    size_t next = 0;
    for (const ops::Run& run : trial.runs) {
      for (const auto& input : run.inputs)
        std::memcpy(memory_.mapped + places_[next++].offset, input.bytes.data(), input.bytes.size());
      for (size_t i = 0; i < run.expectations.size(); ++i, ++next)
        std::memset(memory_.mapped + places_[next].offset, kStale, places_[next].bytes);
    }
    for (vulkan::Buffer& buffer : places_) buffer.buffer = memory_.buffer;
  }
  ~Places() { host_.free(memory_); }
  Places(const Places&) = delete;

  // The buffers of one run. `first` is the index of its first tensor.
  std::span<const vulkan::Buffer> of(const ops::Run& run, size_t first) const {
    return std::span(places_).subspan(first, run.inputs.size() + run.expectations.size());
  }
  std::span<const std::byte> content(size_t place) const {
    return {memory_.mapped + places_[place].offset, places_[place].bytes};
  }
  bool gaps_are_whole() const {
    size_t at = 0;
    const auto is_gap = [&](size_t end) {
      for (; at < end; ++at)
        if (memory_.mapped[at] != std::byte{kGap}) return false;
      return true;
    };
    for (const vulkan::Buffer& place : places_) {
      if (!is_gap(place.offset)) return false;
      at = place.offset + place.bytes;
    }
    return is_gap(end_);
  }

 private:
  void place(std::string_view name, size_t bytes) {
    const VkDeviceSize at = end_ + 4 * static_cast<VkDeviceSize>(random_.below(20));
    // record requires ranges that end at a multiple of 4 bytes.
    places_.push_back({name, VK_NULL_HANDLE, at, align_up<VkDeviceSize>(bytes, 4)});
    end_ = at + places_.back().bytes + 4;
  }

  HostVulkan& host_;
  ops::Random random_;
  std::vector<vulkan::Buffer> places_;
  VkDeviceSize end_ = 64;
  HostVulkan::Memory memory_;
};

// A barrier: later commands see the results of all earlier ones.
void add_barrier(HostVulkan& host, VkCommandBuffer commands) {
  VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_MEMORY_WRITE_BIT,
                             VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
  host.vk().CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                               &barrier, 0, nullptr, 0, nullptr);
}

// Returns what went wrong, or an empty string. *supported is false if the device has no storage of the trial's type.
std::string record_all(HostVulkan& host, Device device, const ops::Trial& trial, uint64_t seed, ops::Tally* tally,
                       bool* supported) {
  Plan plan;
  CompileOptions options = trial.options;
  options.host_scratch = true;
  options.record_slots = static_cast<uint32_t>(trial.runs.size());
  Weights weights = uploaded(device, trial.host_weights());
  const Status status = device.compile(trial.graph, weights, &plan, options);
  *supported = status != Status::Unsupported;
  if (!*supported) return host.take_log(), "";
  vulkan::BufferNeeds needs;
  if (status != Status::Ok || vulkan::scratch_needs(plan, &needs) != Status::Ok) return host.take_log();
  const HostVulkan::Memory scratch =
      host.allocate(std::max<VkDeviceSize>(needs.bytes, 4), needs.usage | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  REQUIRE((needs.bytes == 0 || vulkan::bind_scratch(plan, {scratch.buffer, 0}) == Status::Ok));

  std::string wrong;
  {
    const Places places(host, trial, seed);
    const VkCommandBuffer commands = host.begin();
    size_t first = 0;
    uint32_t slot = 0;
    std::vector<State> states;  // of each run
    for (const ops::Run& run : trial.runs) {
      if (plan.state_bytes() > 0) REQUIRE(plan.make_state(&states.emplace_back()) == Status::Ok);
      add_barrier(host, commands);
      host.vk().CmdFillBuffer(commands, scratch.buffer, 0, VK_WHOLE_SIZE, 0x01010101u * kStale);
      add_barrier(host, commands);
      const auto buffers = places.of(run, first);
      const Status recorded = vulkan::record(plan, commands,
                                             {.buffers = buffers,
                                              .extents = run.extents,
                                              .seed = run.options.seed,
                                              .slot = slot++,
                                              .state = states.empty() ? State() : states.back()});
      if (recorded != Status::Ok) wrong += std::string("record returned ") + to_string(recorded) + "; ";
      first += buffers.size();
    }
    host.end(commands);
    host.submit_and_wait(commands);
    size_t place = 0;
    for (const ops::Run& run : trial.runs) {
      ++tally->runs;
      place += run.inputs.size();
      for (const ops::Expectation& expected : run.expectations)
        if (const std::string difference = ops::difference(expected, places.content(place++), tally);
            !difference.empty())
          wrong += difference + "; ";
    }
    if (!places.gaps_are_whole()) wrong += "something was written beside the outputs; ";
  }
  plan = {};
  host.free(scratch);
  return wrong + host.take_validation() + host.take_log();
}

}  // namespace

TEST_CASE("compositions in a host's command buffer", "[vulkan][random]") {
  const auto host = HostVulkan::create({.f16 = true});
  if (host == nullptr) return;
  Device device = host->adopt();
  ops::Tally tally;
  ops::for_compositions(kUsual, [&](int64_t number, const ops::Composition& composition) {
    bool supported = true;
    const std::string wrong =
        record_all(*host, device, *composition.trial, static_cast<uint64_t>(number), &tally, &supported);
    ++(supported ? tally.ran : tally.unsupported);
    return wrong;
  });
  std::printf("  recorded: %d compositions, %d runs, %d unsupported, worst error %.2f of its bound\n", tally.ran,
              tally.runs, tally.unsupported, tally.worst);
}

}  // namespace heed::test
