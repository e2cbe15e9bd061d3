// A run over several frames gives the same bits as a run in one piece, whatever happens between the parts.
#include <heed/vulkan_frames.hpp>

#include "harness/counting.hpp"
#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

uint64_t dispatches() { return calls("CmdDispatch") + calls("CmdDispatchBase"); }

std::vector<float> output(const HostVulkan::Memory& memory, size_t count) {
  std::vector<float> y(count);
  std::memcpy(y.data(), memory.mapped + Layout().y, count * sizeof(float));
  return y;
}

void spoil_output(const HostVulkan::Memory& memory, size_t count) {
  std::memset(memory.mapped + Layout().y, 0xff, count * sizeof(float));  // NaN
}

uint64_t news_within = 0;  // budget of record_some in milliseconds

// Records one part into a command buffer.
Status part(HostVulkan& host, const Plan& plan, const vulkan::RecordInfo& info, double budget, vulkan::Cursor* cursor,
            bool submit = true, uint32_t index = 0) {
  const VkCommandBuffer commands = host.begin(index);
  const uint64_t before = news();
  const Status status = vulkan::record_some(plan, commands, info, budget, cursor);
  news_within += news() - before;
  host.end(commands);
  if (submit) host.submit_and_wait(commands);
  return status;
}

std::vector<float> in_one_go(HostVulkan& host, const Plan& plan, const vulkan::RecordInfo& info,
                             const HostVulkan::Memory& memory, size_t count) {
  host.record_and_wait(plan, info);
  return output(memory, count);
}

}  // namespace

TEST_CASE("record_some: the same bits as record, for every budget", "[vulkan][frames]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Block block = make_block(*host);
  const HostVulkan::Memory memory = host->allocate(Layout::kBytes);
  for (int64_t tokens : {1, 17, 37}) {
    const Sample sample = make_sample(block.cpu_plan, 2, tokens, 5);
    const SampleInfo given(memory, {}, sample);
    write_inputs(memory, {}, sample);
    reset_calls();
    const std::vector<float> want = in_one_go(*host, block.plan, given.info, memory, sample.y.size());
    const uint64_t all = dispatches();
    CHECK(difference(want.data(), sample.y) == "");
    vulkan::Estimate expected;
    REQUIRE(vulkan::estimate(block.plan, given.extent_list, {}, &expected) == Status::Ok);
    CHECK(expected.dispatches == all);
    CHECK(expected.measured == 0);
    for (double budget : {-1.0, 0.0, 0.6 * expected.longest, 0.7 * expected.milliseconds, kInfinity}) {
      INFO("tokens " << tokens << ", budget " << budget << " of " << expected.milliseconds);
      spoil_output(memory, sample.y.size());
      vulkan::Cursor cursor;
      uint32_t parts = 0;
      double sum = 0;
      reset_calls();
      for (; !cursor.done(); ++parts) {
        REQUIRE(parts <= all);
        const uint64_t before = dispatches();
        REQUIRE(part(*host, block.plan, given.info, budget, &cursor) == Status::Ok);
        REQUIRE(dispatches() > before);
        if (dispatches() > before + 1) CHECK(cursor.milliseconds <= budget);
        sum += cursor.milliseconds;
        vulkan::Estimate left;
        REQUIRE(vulkan::estimate(block.plan, given.extent_list, cursor, &left) == Status::Ok);
        CHECK(left.dispatches == all - dispatches());
      }
      CHECK(dispatches() == all);
      CHECK(output(memory, sample.y.size()) == want);
      if (budget <= 0) CHECK(parts == all);
      if (budget == kInfinity) CHECK(parts == 1);
      if (budget != kInfinity) CHECK(std::fabs(sum - expected.milliseconds) < 1e-9 + 1e-9 * sum);
      if (budget == 0.7 * expected.milliseconds) {
        CHECK(parts >= 2);
        CHECK(parts < all);
      }
    }
  }
}

TEST_CASE("record_some: parts in flight together, in one command buffer, or never submitted", "[vulkan][frames]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Block block = make_block(*host);
  const HostVulkan::Memory memory = host->allocate(Layout::kBytes);
  const Sample sample = make_sample(block.cpu_plan, 3, 29, 5);
  const SampleInfo given(memory, {}, sample);
  write_inputs(memory, {}, sample);
  const std::vector<float> want = in_one_go(*host, block.plan, given.info, memory, sample.y.size());
  const auto good = [&] {
    CHECK(output(memory, sample.y.size()) == want);
    CHECK(host->take_validation() == "");
    spoil_output(memory, sample.y.size());
  };
  spoil_output(memory, sample.y.size());

  // Records three parts before it submits the first, then the rest.
  vulkan::Cursor cursor;
  std::vector<VkCommandBuffer> together;
  for (uint32_t i = 0; i < 4; ++i) {
    together.push_back(host->begin(i));
    REQUIRE(vulkan::record_some(block.plan, together[i], given.info, i < 3 ? 0.0 : kInfinity, &cursor) == Status::Ok);
    host->end(together[i]);
  }
  CHECK(cursor.done());
  host->submit_and_wait(together);
  good();

  // All parts go into one command buffer.
  cursor = {};
  const VkCommandBuffer one = host->begin();
  while (!cursor.done()) REQUIRE(vulkan::record_some(block.plan, one, given.info, 0, &cursor) == Status::Ok);
  host->end(one);
  host->submit_and_wait(one);
  good();

  // Every second part is discarded with its command buffer. Recording continues with a copy of the cursor from before that part.
  cursor = {};
  for (uint32_t frame = 0; !cursor.done(); ++frame) {
    REQUIRE(frame < 1000);
    vulkan::Cursor next = cursor;
    REQUIRE(part(*host, block.plan, given.info, 0, &next, frame % 2 == 1) == Status::Ok);
    if (frame % 2 == 1) cursor = next;
  }
  good();

  // Some frames have no part, and run another plan of the device.
  Graph g;
  g.output("y", g.softmax(g.softmax(g.input("x", {8, 16}))));
  Plan other = compiled(block.device, g);
  std::vector<float> x = pattern(128, 1), y(128);
  cursor = {};
  while (!cursor.done()) {
    REQUIRE(part(*host, block.plan, given.info, 0, &cursor) == Status::Ok);
    REQUIRE(other.run({{"x", x}, {"y", y}}) == Status::Ok);
  }
  good();
}

TEST_CASE("record_some: without the barrier between parts, the validation layer would speak", "[vulkan][frames]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Block block = make_block(*host);
  const HostVulkan::Memory memory = host->allocate(Layout::kBytes);
  const Sample sample = make_sample(block.cpu_plan, 1, 5, 5);
  const SampleInfo given(memory, {}, sample);
  for (const bool without : {false, true}) {
    pretend({.no_barriers = without});
    vulkan::Cursor cursor;
    const VkCommandBuffer commands = host->begin();
    while (!cursor.done()) REQUIRE(vulkan::record_some(block.plan, commands, given.info, 0, &cursor) == Status::Ok);
    host->end(commands);
    const std::string text = host->take_validation();
    CHECK(has_message(text, "SYNC-HAZARD-READ-AFTER-WRITE") == without);
    if (!without) CHECK(text == "");
  }
  pretend({});
}

TEST_CASE("record_some: what changes in the middle of a run is told, and nothing is written", "[vulkan][frames]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Block block = make_block(*host, {.host_scratch = true});
  const HostVulkan::Memory memory = host->allocate(Layout::kBytes), other = host->allocate(Layout::kBytes);
  const HostVulkan::Memory scratch = host->allocate(block.plan.scratch_bytes());
  REQUIRE(vulkan::bind_scratch(block.plan, {scratch.buffer}) == Status::Ok);
  const Sample sample = make_sample(block.cpu_plan, 2, 29, 5), shorter = make_sample(block.cpu_plan, 2, 28, 5);
  const SampleInfo given(memory, {}, sample), elsewhere(other, {}, sample), less(memory, {}, shorter);
  Layout moved;
  moved.y += 4;
  const SampleInfo shifted(memory, moved, sample);
  write_inputs(memory, {}, sample);
  const std::vector<float> want = in_one_go(*host, block.plan, given.info, memory, sample.y.size());

  vulkan::Cursor cursor;
  REQUIRE(part(*host, block.plan, given.info, 0, &cursor) == Status::Ok);
  const VkCommandBuffer commands = host->begin(1);
  const auto refuses = [&](const vulkan::RecordInfo& info, const char* text) {
    vulkan::Cursor copy = cursor;
    reset_calls();
    CHECK(vulkan::record_some(block.plan, commands, info, 1.0, &copy) == Status::InvalidArgument);
    CHECK(calls_of_all() == calls("GetBufferMemoryRequirements"));  // needed since y has no stated size
    CHECK(copy == cursor);
    const std::string log = host->take_log();
    INFO(log << " should hold " << text);
    CHECK_THAT(log, holds(text));
  };
  refuses(elsewhere.info, "the buffers are not those");
  refuses(shifted.info, "the buffers are not those");
  refuses(less.info, "the extents are not those");
  vulkan::RecordInfo info = given.info;
  info.slot = 1;
  refuses(info, "the slot is not the one");
  info = given.info;
  info.seed = 7;
  refuses(info, "the seed is not the one");
  CHECK(vulkan::record_some(block.plan, commands, given.info, std::nan(""), &cursor) == Status::InvalidArgument);
  CHECK(vulkan::record_some(block.plan, commands, given.info, 1.0, nullptr) == Status::InvalidArgument);
  CHECK(vulkan::record_some(block.cpu_plan, commands, given.info, 1.0, &cursor) == Status::InvalidArgument);
  CHECK(vulkan::record_some(Plan(), commands, given.info, 1.0, &cursor) == Status::InvalidArgument);
  CHECK(vulkan::record_some(block.plan, VK_NULL_HANDLE, given.info, 1.0, &cursor) == Status::InvalidArgument);
  host->take_log();

  // After all these mistakes the run continues.
  spoil_output(memory, sample.y.size());
  while (!cursor.done()) REQUIRE(part(*host, block.plan, given.info, 0, &cursor) == Status::Ok);
  CHECK(output(memory, sample.y.size()) == want);
  refuses(given.info, "the run is done");

  // Calls that replace the scratch end the run.
  const auto begin = [&] {
    cursor = {};
    REQUIRE(part(*host, block.plan, given.info, 0, &cursor) == Status::Ok);
  };
  begin();
  info = given.info;
  info.slot = 1;
  vulkan::Cursor second;
  REQUIRE(part(*host, block.plan, info, 0, &second) == Status::Ok);
  refuses(given.info, "the plan was recorded");
  begin();
  std::vector<float> y(sample.y.size());
  REQUIRE(block.plan.run({{"x", sample.x}, {"padding", sample.padding}, {"y", y}}, {{"batch", 2}, {"tokens", 29}}) ==
          Status::Ok);
  refuses(given.info, "the plan was recorded");
  begin();
  REQUIRE(vulkan::bind_scratch(block.plan, {scratch.buffer}) == Status::Ok);
  refuses(given.info, "given scratch since");
  host->end(commands);

  vulkan::Estimate estimate;
  CHECK(vulkan::estimate(block.cpu_plan, {}, {}, &estimate) == Status::InvalidArgument);
  CHECK(vulkan::estimate(block.plan, {}, {}, nullptr) == Status::InvalidArgument);
  const ExtentValue bad[] = {{"tokens", 0}};
  host->refused(vulkan::estimate(block.plan, bad, {}, &estimate), Status::ExtentOutOfRange, "tokens");
}

TEST_CASE("record_some: learns from the parts that the GPU has finished", "[vulkan][frames]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  if (!host->has_timestamps()) {
    WARN("no timestamps here: learning was not tested");
    return;
  }
  for (const bool non_coherent : {false, true}) {
    pretend({.non_coherent = non_coherent});
    Block block = make_block(*host, {.timestamps = true});
    const HostVulkan::Memory memory = host->allocate(Layout::kBytes);
    const Sample sample = make_sample(block.cpu_plan, 3, 37, 5);
    const SampleInfo given(memory, {}, sample), other(memory, {}, sample, 1);
    write_inputs(memory, {}, sample);
    const auto share = [&] {
      vulkan::Estimate all;
      REQUIRE(vulkan::estimate(block.plan, given.extent_list, {}, &all) == Status::Ok);
      return all.measured;
    };
    vulkan::Cursor cursor;
    std::vector<PassTime> times;
    CHECK(share() == 0);
    REQUIRE(part(*host, block.plan, given.info, 0, &cursor) == Status::Ok);
    CHECK(share() == 0);                                           // nobody has read the timestamps
    CHECK(block.plan.timings(&times) == Status::InvalidArgument);  // not at the run's end
    host->take_log();
    news_within = 0;
    REQUIRE(part(*host, block.plan, given.info, 0, &cursor) == Status::Ok);
    CHECK(news_within == 0);
    CHECK(share() > 0);  // within the run
    CHECK(share() < 1);
    while (!cursor.done()) REQUIRE(part(*host, block.plan, given.info, 0, &cursor) == Status::Ok);
    const std::vector<float> y = output(memory, sample.y.size());
    CHECK(difference(y.data(), sample.y) == "");
    REQUIRE(block.plan.timings(&times) == Status::Ok);
    CHECK(share() == 1);
    REQUIRE(times.size() == block.plan.passes().size());
    double sum = 0;
    for (const PassTime& time : times) sum += time.milliseconds;
    CHECK(sum > 0);
    std::vector<PassTime> again;
    REQUIRE(block.plan.timings(&again) == Status::Ok);
    for (size_t i = 0; i < times.size(); ++i) CHECK(again[i].milliseconds == times[i].milliseconds);

    // From here on measured times decide. The estimate of a run is the measured time of its passes, apart from averaging.
    vulkan::Estimate all;
    REQUIRE(vulkan::estimate(block.plan, given.extent_list, {}, &all) == Status::Ok);
    CHECK(all.milliseconds > 0.4 * sum);
    CHECK(all.milliseconds < 2.5 * sum);
    // The other slot uses the same plan's measurements, and so does a run in one piece.
    cursor = {};
    for (uint32_t parts = 0; !cursor.done(); ++parts) {
      REQUIRE(parts < 100);
      REQUIRE(part(*host, block.plan, other.info, 0.3 * all.milliseconds, &cursor) == Status::Ok);
    }
    REQUIRE(block.plan.timings(&times, 1) == Status::Ok);
    CHECK(in_one_go(*host, block.plan, given.info, memory, sample.y.size()) == y);
    REQUIRE(block.plan.timings(&times, 0) == Status::Ok);
    block = {};
    host->free(memory);
    CHECK(host->take_log() == "");
    CHECK(host->take_validation() == "");
  }
}

TEST_CASE("record_some: a pass is cut between its pieces, and faults arrive", "[vulkan][frames]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  constexpr int64_t kSize = 640;  // 2 * 640^3 * 3 = 1.6e9 operations: two pieces on slow devices
  Device device = host->adopt();
  Graph g;
  const Tensor rows = g.embedding(g.input("table", {5, kSize}), g.input("ids", {3, kSize}, DType::I32));
  g.output("c", g.matmul(rows, g.input("b", {kSize, kSize})));
  Plan plan = compiled(device, g, {}, {.timestamps = host->has_timestamps()});
  const VkDeviceSize bytes = 3 * kSize * kSize * 4, at_b = bytes, at_table = 2 * bytes, at_ids = at_table + 65536;
  const HostVulkan::Memory memory = host->allocate(3 * bytes);
  const std::vector<float> b = pattern(kSize * kSize, 2), table = pattern(5 * kSize, 3);
  std::vector<int32_t> ids(3 * kSize);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i * 7 % 5);
  ids[11] = 5;  // outside of the buffer
  std::memcpy(memory.mapped + at_b, b.data(), b.size() * 4);
  std::memcpy(memory.mapped + at_table, table.data(), table.size() * 4);
  std::memcpy(memory.mapped + at_ids, ids.data(), ids.size() * 4);
  const vulkan::Buffer buffers[] = {{"c", memory.buffer, 0},
                                    {"b", memory.buffer, at_b},
                                    {"table", memory.buffer, at_table},
                                    {"ids", memory.buffer, at_ids}};
  const vulkan::RecordInfo info = {.buffers = buffers};
  const VkCommandBuffer commands = host->begin();
  reset_calls();
  REQUIRE(vulkan::record(plan, commands, info) == Status::Ok);
  const uint64_t all = dispatches();
  host->end(commands);
  host->submit_and_wait(commands);
  host->refused(vulkan::take_faults(plan), Status::IndexOutOfRange, "an id is outside the table");
  std::vector<std::byte> want(memory.mapped, memory.mapped + bytes);
  std::memset(memory.mapped, 0xff, bytes);
  if (device.info().kind == DeviceKind::SoftwareGpu) CHECK(all >= 3);

  vulkan::Cursor cursor;
  uint32_t parts = 0, cut = 0;
  for (; !cursor.done(); ++parts) {
    REQUIRE(part(*host, plan, info, 0, &cursor) == Status::Ok);
    cut += cursor.piece != 0;
  }
  CHECK(parts == all);
  if (device.info().kind == DeviceKind::SoftwareGpu) CHECK(cut > 0);
  CHECK(std::memcmp(memory.mapped, want.data(), bytes) == 0);
  host->refused(vulkan::take_faults(plan), Status::IndexOutOfRange, "an id is outside the table");
  CHECK(vulkan::take_faults(plan) == Status::Ok);
  std::vector<PassTime> times;
  if (host->has_timestamps()) {
    REQUIRE(plan.timings(&times) == Status::Ok);
    CHECK(times.back().milliseconds > 0);
  }
}
