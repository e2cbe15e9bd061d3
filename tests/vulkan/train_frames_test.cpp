// A training step spread over frames leaves the same bits as a step in one piece, and a cancelled step does no harm.
#include <heed/vulkan_frames.hpp>

#include "harness/setup.hpp"
#include "train/writer.hpp"
#include "vulkan/host_vulkan.hpp"

namespace heed::test {
namespace {

using train_tests::Writer;

// The model of samples/learn on the host's device, with inputs and outputs in the host's memory.
class Sliced {
 public:
  explicit Sliced(HostVulkan& host) : host_(host), device_(host.adopt()), memory_(host.allocate(kEnd)) {
    plan = compiled(device_, writer.learns("layers"), {}, {.training = true});
    state = writer.begin(plan);
    before_ = writer.begin(plan);
  }
  ~Sliced() { host_.free(memory_); }

  // Records and runs up to `most` parts of a step. Returns whether it is done.
  bool parts(int64_t step, double budget, int64_t most) {
    give(step);
    const vulkan::Buffer buffers[] = {{"ids", memory_.buffer, kIds, kNext - kIds},
                                      {"next", memory_.buffer, kNext, kSettings - kNext},
                                      {"optimizer.settings", memory_.buffer, kSettings, kLoss - kSettings},
                                      {"loss", memory_.buffer, kLoss, 256},
                                      {"report", memory_.buffer, kReport, 256}};
    const vulkan::RecordInfo info = {.buffers = buffers, .seed = static_cast<uint32_t>(step), .state = state};
    vulkan::Cursor cursor;
    for (int64_t part = 0; part < most && !cursor.done(); ++part) {
      const VkCommandBuffer commands = host_.begin();
      const Status status = vulkan::record_some(plan, commands, info, budget, &cursor);
      host_.end(commands);
      REQUIRE(status == Status::Ok);
      host_.submit_and_wait(commands);
    }
    vulkan::Estimate rest;
    REQUIRE(vulkan::estimate(plan, {}, cursor, &rest) == Status::Ok);
    dispatches_left = rest.dispatches;
    return cursor.done();
  }

  void keep() { REQUIRE(before_.copy(state) == Status::Ok); }
  void restore() { REQUIRE(state.copy(before_) == Status::Ok); }
  std::vector<std::byte> bits() const {
    std::vector<std::byte> blob;
    REQUIRE(state.save(&blob) == Status::Ok);
    return blob;
  }

  Writer writer{{}, 0.1f};
  Plan plan;
  State state;
  uint32_t dispatches_left = 0;

 private:
  // The inputs of a step.
  void give(int64_t step) {
    const Writer::Batch rows = writer.batch(step);
    const auto settings = writer.words(step, true, 1);
    std::memcpy(memory_.mapped + kIds, rows.ids.data(), rows.ids.size() * 4);
    std::memcpy(memory_.mapped + kNext, rows.next.data(), rows.next.size() * 4);
    std::memcpy(memory_.mapped + kSettings, settings.data(), settings.size() * sizeof settings[0]);
  }

  static constexpr VkDeviceSize kIds = 0, kNext = 1024, kSettings = 2048, kLoss = 4096, kReport = 4352, kEnd = 4608;
  HostVulkan& host_;
  Device device_;
  HostVulkan::Memory memory_;
  State before_;
};

constexpr int64_t kWholeStep = 1 << 20;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("a training step over several frames leaves the same bits", "[vulkan][frames][train]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Sliced sliced(*host);
  sliced.keep();
  for (int64_t step = 0; step < 2; ++step) REQUIRE(sliced.parts(step, kInfinity, kWholeStep));
  const std::vector<std::byte> want = sliced.bits();
  sliced.restore();
  for (int64_t step = 0; step < 2; ++step) REQUIRE(sliced.parts(step, step == 0 ? 0.0 : 0.5, kWholeStep));
  CHECK(sliced.bits() == want);
}

// Without OptimizerOptions::accumulate, only the last passes write weights and moments: the pass that computes the norm, and one for each
// group. The next step overwrites gradients that a cancelled step has left.
TEST_CASE("a training step that is given up between frames harms nothing", "[vulkan][frames][train]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Sliced sliced(*host);
  REQUIRE(sliced.parts(0, kInfinity, kWholeStep));
  sliced.keep();
  REQUIRE(sliced.parts(1, kInfinity, kWholeStep));
  const std::vector<std::byte> want = sliced.bits();
  sliced.restore();
  REQUIRE_FALSE(sliced.parts(1, 0.0, 1));
  const int64_t all = 1 + int64_t{sliced.dispatches_left};
  uint32_t last = 0;  // dispatches that write weights, moments and the step count
  const std::vector<PassInfo> passes = sliced.plan.passes();
  for (const PassInfo& pass : passes)
    if (pass.op == "update" || pass.op == "gradient_norm") last += pass.dispatches;
  REQUIRE(last > 0);
  for (const int64_t parts : {int64_t{1}, all / 3, all / 2, all - last}) {
    INFO(parts << " of " << all << " dispatches");
    REQUIRE_FALSE(sliced.parts(7, 0.0, parts));  // another step, which is never finished
    REQUIRE(sliced.parts(1, kInfinity, kWholeStep));
    CHECK(sliced.bits() == want);
    sliced.restore();
  }
  // A step that is cancelled later has changed some of the weights. A copy of the State from before it restores them.
  REQUIRE_FALSE(sliced.parts(7, 0.0, all - 1));
  REQUIRE(sliced.parts(1, kInfinity, kWholeStep));
  CHECK(sliced.bits() != want);
  sliced.restore();
  REQUIRE(sliced.parts(1, kInfinity, kWholeStep));
  CHECK(sliced.bits() == want);
}

}  // namespace heed::test
