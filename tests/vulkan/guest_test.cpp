// Hosts that show only part of their device to heed: an assumed feature, a shared queue, a pipeline cache of heed's own, a device that is
// destroyed first, and a submitter.
#include <heed/vulkan_submitter.hpp>

#include "vulkan/host_plan.hpp"

using namespace heed;
using namespace heed::test;

namespace {

Graph doubling_graph(DType dtype = DType::F32) {
  Graph g;
  g.output("y", g.scale(g.input("x", {64}, dtype), 2.0f));
  return g;
}

// A host's queue behind a lock, or behind a thread that submits later.
struct SharedQueue {
  const vulkan::Functions* vk = nullptr;
  VkQueue queue = VK_NULL_HANDLE;
  int depth = 0, locks = 0, submits = 0;
  bool later = false;  // `submit` holds the work back
  VkCommandBuffer kept = VK_NULL_HANDLE;
  VkFence fence = VK_NULL_HANDLE;

  vulkan::QueueAccess locking() {
    return {.user = this,
            .lock = [](void* user) { ++static_cast<SharedQueue*>(user)->depth; },
            .unlock =
                [](void* user) {
                  auto& own = *static_cast<SharedQueue*>(user);
                  own.locks += own.depth == 1;
                  --own.depth;
                }};
  }
  vulkan::QueueAccess submitting() {
    return {.user = this, .submit = [](void* user, VkQueue, const VkSubmitInfo& info, VkFence with) {
              auto& own = *static_cast<SharedQueue*>(user);
              ++own.submits;
              if (!own.later) return own.vk->QueueSubmit(own.queue, 1, &info, with);
              own.kept = info.pCommandBuffers[0];
              own.fence = with;
              return VK_SUCCESS;
            }};
  }
  void submit_kept() {
    auto info = vulkan::structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
    info.commandBufferCount = 1;
    info.pCommandBuffers = &kept;
    REQUIRE(vk->QueueSubmit(queue, 1, &info, fence) == VK_SUCCESS);
  }
};

void runs(Plan& plan) {
  std::vector<float> x(64, 1.5f), y(64);
  CHECK(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
  CHECK(y == std::vector<float>(64, 3.0f));
}

// 64 ones at the start of a host buffer, and the place for the doubled values.
struct Ones {
  explicit Ones(HostVulkan& host) : memory(host.allocate(1024)) {
    const std::vector<float> x(64, 1.0f);
    std::memcpy(memory.mapped, x.data(), 256);
    buffers[0] = {"x", memory.buffer, 0, 256};
    buffers[1] = {"y", memory.buffer, 512, 256};
  }
  bool doubled() const {
    std::vector<float> y(64);
    std::memcpy(y.data(), memory.mapped + 512, 256);
    return y == std::vector<float>(64, 2.0f);
  }
  HostVulkan::Memory memory;
  vulkan::Buffer buffers[2];
};

constexpr vulkan::SubmitterOptions kReadByHost = {
    .stages_before = VK_PIPELINE_STAGE_HOST_BIT,
    .accesses_before = VK_ACCESS_HOST_WRITE_BIT,
    .stages_after = VK_PIPELINE_STAGE_HOST_BIT,
    .accesses_after = VK_ACCESS_HOST_READ_BIT,
};

}  // namespace

TEST_CASE("guest: 16-bit storage is assumed where the host says so and the driver has it", "[vulkan][adopt]") {
  const auto host = HostVulkan::create({.f16 = true});
  if (host == nullptr) return;
  vulkan::HostDevice told = host->host_device();
  told.enabled_features = nullptr;
  Plan plan;
  {
    Device device = adopted(told);
    host->refused(device.compile(doubling_graph(DType::F16), {}, &plan), Status::Unsupported,
                  "HostDevice::enabled_features");
  }
  told.assume_16bit_storage = true;
  Device device = adopted(told);
  if (!host->has_f16()) {
    CHECK(device.compile(doubling_graph(DType::F16), {}, &plan) == Status::Unsupported);
    CHECK(host->take_log() != "");
    return;
  }
  REQUIRE(device.compile(doubling_graph(DType::F16), {}, &plan) == Status::Ok);
  std::vector<uint16_t> x(64, 0x3c00), y(64);  // 1.0
  CHECK(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
  CHECK(y == std::vector<uint16_t>(64, 0x4000));  // 2.0
}

TEST_CASE("guest: heed takes the host's lock around each submission, or lets the host submit", "[vulkan][adopt]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  SharedQueue shared = {.vk = &host->vk(), .queue = host->heed_queue()};
  vulkan::HostDevice told = host->host_device();
  told.queue_access = shared.locking();
  {
    Device device = adopted(told);
    Plan plan = compiled(device, doubling_graph());
    CHECK(shared.locks == 0);
    runs(plan);
    CHECK(shared.locks == 1);
    CHECK(shared.depth == 0);
  }
  told.queue_access = shared.submitting();
  told.queue = VK_NULL_HANDLE;
  reset_calls();
  {
    Device device = adopted(told);
    Plan plan = compiled(device, doubling_graph());
    runs(plan);
    CHECK(shared.submits == 1);
    CHECK(calls("QueueSubmit") == 0);
  }
  told.queue_access = {.unlock = [](void*) {}};
  Device device;
  host->refused(vulkan::adopt(told, &device), Status::InvalidArgument, "queue_access.lock is null");
}

TEST_CASE("guest: heed keeps a pipeline cache of its own where the host gives none", "[vulkan][adopt]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  vulkan::HostDevice told = host->host_device();
  std::vector<std::byte> blob;
  {
    Device device = adopted(told);
    Plan plan = compiled(device, doubling_graph());
    REQUIRE(device.pipeline_cache(&blob) == Status::Ok);
  }
  told.pipeline_cache_blob = blob;
  {
    Device device = adopted(told);
    Plan plan = compiled(device, doubling_graph());
    runs(plan);
  }
  const std::vector<std::byte> garbage(100, std::byte{7});
  told.pipeline_cache_blob = garbage;
  Device device = adopted(told);
  CHECK_THAT(host->take_log(), holds("pipeline cache is ignored"));
  Plan plan = compiled(device, doubling_graph());
  runs(plan);
}

TEST_CASE("guest: handles that outlive the host's device make no call of Vulkan", "[vulkan][adopt]") {
  Device device;
  Weights weights;
  Plan plan;
  State state;
  vulkan::Submitter submitter;
  StartedRun started;
  // Runs without the layer, which does not report the objects that are destroyed with the host's device.
  auto host = HostVulkan::create({.validation = false});
  if (host == nullptr) return;
  vulkan::HostDevice told = host->host_device();
  told.allocator = nullptr;
  told.log = {};
  device = adopted(told);
  Graph g;
  const Tensor sum = g.state("sum", {1, 64});
  g.output("y", g.assign(sum, g.add(sum, g.linear(g.input("x", {1, 64}), g.weight("w", {64, 64})))));
  const std::vector<float> w(64 * 64, 1.0f);
  Tensors tensors;
  tensors.add("w", {64, 64}, w);
  REQUIRE(device.upload(tensors.list(), &weights) == Status::Ok);
  REQUIRE(device.compile(g, weights, &plan, {.timestamps = true, .progress = true}) == Status::Ok);
  REQUIRE(plan.make_state(&state) == Status::Ok);
  REQUIRE(vulkan::Submitter::create(device, {}, &submitter) == Status::Ok);
  std::vector<float> x(64, 1.0f), y(64);
  const HostBuffer buffers[] = {{"x", x}, {"y", y}};
  REQUIRE(plan.run(buffers, {}, {.state = state}) == Status::Ok);
  REQUIRE(plan.start(buffers, {}, {.state = state}, &started) == Status::Ok);
  Plan another = compiled(device, doubling_graph());
  runs(another);  // on the same queue, so that the started run has ended as well
  REQUIRE(vulkan::device_gone(device) == Status::Ok);
  reset_calls();
  forget_objects();
  host.reset();

  CHECK(started.wait() == Status::DeviceLost);
  CHECK(plan.run(buffers, {}, {.state = state}) == Status::DeviceLost);
  CHECK(plan.start(buffers, {}, {.state = state}, &started) == Status::DeviceLost);
  CHECK(state.reset() == Status::DeviceLost);
  CHECK(device.upload(tensors.list(), &weights) == Status::DeviceLost);
  Plan other;
  CHECK(device.compile(g, weights, &other) == Status::DeviceLost);
  State fresh;
  CHECK(plan.make_state(&fresh) == Status::DeviceLost);
  std::vector<std::byte> blob;
  CHECK(device.pipeline_cache(&blob) == Status::DeviceLost);
  int32_t pass = 0;
  CHECK(vulkan::last_completed(plan, 0, &pass) == Status::DeviceLost);
  CHECK(vulkan::take_faults(plan, 0) == Status::DeviceLost);
  std::vector<PassTime> times;
  CHECK(plan.timings(&times) == Status::DeviceLost);
  vulkan::BufferNeeds needs;
  CHECK(vulkan::scratch_needs(plan, &needs) == Status::DeviceLost);
  CHECK(vulkan::state_needs(plan, &needs) == Status::DeviceLost);
  CHECK(vulkan::upload_needs(device, tensors.list(), &needs) == Status::DeviceLost);
  const vulkan::Buffer some[] = {{"x", VkBuffer(1), 0, 256}, {"y", VkBuffer(1), 512, 256}};
  CHECK(vulkan::record(plan, VkCommandBuffer(1), {.buffers = some, .state = state}) == Status::DeviceLost);
  uint32_t slot = 0;
  CHECK(submitter.submit(plan, {.buffers = some, .state = state}, &slot) == Status::DeviceLost);
  CHECK(submitter.poll(0) == Status::Ok);
  CHECK(plan.passes().size() > 0);
  started = {};
  submitter = {};
  plan = another = {};
  state = {};
  weights = {};
  device = {};
  CHECK(calls_of_all() == 0);
}

TEST_CASE("guest: only an adopted device can be gone", "[vulkan][adopt]") {
  Device device;
  CHECK(vulkan::device_gone(device) == Status::InvalidArgument);
  device = open_cpu();
  CHECK(vulkan::device_gone(device) == Status::InvalidArgument);
}

TEST_CASE("submitter: outputs are there once a slot is done, and no more slots are taken than there are",
          "[vulkan][submitter]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  SharedQueue shared = {.vk = &host->vk(), .queue = host->heed_queue(), .later = true};
  vulkan::HostDevice told = host->host_device();
  told.queue_access = shared.submitting();
  Device device = adopted(told);
  Plan plan;
  REQUIRE(device.compile(doubling_graph(), {}, &plan, {.record_slots = 2}) == Status::Ok);
  vulkan::SubmitterOptions options = kReadByHost;
  options.slots = 2;
  vulkan::Submitter submitter;
  REQUIRE(vulkan::Submitter::create(device, options, &submitter) == Status::Ok);
  const Ones first(*host), second(*host), third(*host);
  uint32_t a = 9, b = 9, c = 9;
  REQUIRE(submitter.submit(plan, {.buffers = first.buffers}, &a) == Status::Ok);
  const VkCommandBuffer kept = shared.kept;
  const VkFence fence = shared.fence;
  REQUIRE(submitter.submit(plan, {.buffers = second.buffers}, &b) == Status::Ok);
  CHECK(a != b);
  CHECK(submitter.submit(plan, {.buffers = third.buffers}, &c) == Status::NotReady);
  CHECK(submitter.poll(a) == Status::NotReady);
  CHECK(c == 9);
  shared.submit_kept();
  CHECK(submitter.wait(b) == Status::Ok);
  CHECK(second.doubled());
  CHECK_FALSE(first.doubled());
  CHECK(submitter.poll(a) == Status::NotReady);
  shared.kept = kept;
  shared.fence = fence;
  shared.submit_kept();
  while (submitter.poll(a) == Status::NotReady) {
  }
  CHECK(first.doubled());
  // A slot is free once it is done, even if nobody read its result.
  shared.later = false;
  for (int i = 0; i < 5; ++i) {
    Status status = Status::NotReady;
    while (status == Status::NotReady) status = submitter.submit(plan, {.buffers = third.buffers}, &c);
    REQUIRE(status == Status::Ok);
  }
  CHECK(submitter.wait(c) == Status::Ok);
  CHECK(third.doubled());
  CHECK(submitter.poll(7) == Status::InvalidArgument);
}

TEST_CASE("submitter: faults and wrong uses are told", "[vulkan][submitter]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Device device = host->adopt();
  vulkan::Submitter submitter;
  uint32_t slot = 0;
  {
    const Device cpu = open_cpu();
    CHECK(vulkan::Submitter::create(cpu, {}, &submitter) == Status::InvalidArgument);
  }
  host->refused(vulkan::Submitter::create(device, {.slots = 0}, &submitter), Status::InvalidArgument, "no slots");
  Plan plan = compiled(device, doubling_graph());
  CHECK(submitter.submit(plan, {}, &slot) == Status::InvalidArgument);  // was not created
  REQUIRE(vulkan::Submitter::create(device, kReadByHost, &submitter) == Status::Ok);
  CHECK(submitter.submit(plan, {}, &slot) == Status::MissingBuffer);
  CHECK(host->take_log() != "");
  {
    Device another = host->adopt();
    Plan foreign = compiled(another, doubling_graph());
    host->refused(submitter.submit(foreign, {}, &slot), Status::InvalidArgument, "another device's");
  }
  Graph g;
  const float rows[] = {1, 2, 3, 4};
  g.output("y", g.embedding(g.constant("table", {2, 2}, rows), g.input("ids", {2}, DType::I32)));
  Plan lookup = compiled(device, g);
  const HostVulkan::Memory memory = host->allocate(1024);
  const int32_t ids[] = {1, 5};
  std::memcpy(memory.mapped, ids, sizeof ids);
  const vulkan::Buffer buffers[] = {{"ids", memory.buffer, 0, 8}, {"y", memory.buffer, 512, 16}};
  REQUIRE(submitter.submit(lookup, {.buffers = buffers}, &slot) == Status::Ok);
  CHECK(submitter.wait(slot) == Status::IndexOutOfRange);
  CHECK(submitter.wait(slot) == Status::Ok);
  CHECK_THAT(host->take_log(), holds("an id is outside the table"));
  // The destructor waits for work in flight and keeps its plan until then.
  REQUIRE(submitter.submit(lookup, {.buffers = buffers}, &slot) == Status::Ok);
  host->refused(vulkan::Submitter::create(device, kReadByHost, &submitter), Status::InvalidArgument,
                "has work in flight");
  lookup = {};
  submitter = {};
  (void)host->take_log();
}

TEST_CASE("submitter: a device without a queue has none", "[vulkan][submitter]") {
  const auto host = HostVulkan::create({.queue = false});
  if (host == nullptr) return;
  vulkan::Submitter submitter;
  host->refused(vulkan::Submitter::create(host->adopt(), {}, &submitter), Status::Unsupported,
                "Submitter: the host gave no queue");
}
