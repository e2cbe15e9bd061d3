// Programs of right and wrong calls on the CPU device. A wrong call returns a Status and gives one message. A plan that compiles runs twice
// with the same bits, and refuses wrong buffers and extents.

#include "hostile/program.hpp"

namespace heed::test {
namespace {

constexpr uint64_t kMemoryLimit = 64u << 20;

struct Bound {
  std::string name;
  DType dtype;
  std::vector<std::byte> bytes;
  bool output;
};

// Sizes of the plan's inputs and outputs at these extents.
std::vector<Bound> bound_of(const Graph& graph, const std::vector<ExtentValue>& extents) {
  const detail::GraphData& data = graph.data();
  std::vector<int64_t> values;
  for (const detail::ExtentInfo& extent : data.extents) {
    values.push_back(extent.max);
    for (const ExtentValue& given : extents)
      if (given.name == extent.name) values.back() = given.value;
  }
  std::vector<Bound> all;
  const auto add = [&](const detail::NamedTensor& named, bool output) {
    const TensorInfo& info = data.tensors[named.tensor];
    uint64_t bytes = size_of(info.dtype);
    for (int i = 0; i < info.rank; ++i)
      bytes *= static_cast<uint64_t>(data.sizes.evaluate(info.dims[static_cast<size_t>(i)], values));
    all.push_back({named.name, info.dtype, std::vector<std::byte>(bytes > (1u << 24) ? 0 : bytes), output});
  };
  for (const auto& input : data.inputs) add(input, false);
  for (const auto& output : data.outputs) add(output, true);
  return all;
}

std::vector<HostBuffer> buffers_of(std::vector<Bound>& bound) {
  std::vector<HostBuffer> buffers;
  for (Bound& b : bound) buffers.emplace_back(b.name, b.bytes);
  return buffers;
}

// Makes one thing wrong; returns false if nothing can be.
bool spoil(Random& r, std::vector<HostBuffer>* buffers, std::vector<ExtentValue>* extents) {
  HostBuffer& b = (*buffers)[static_cast<size_t>(r.below(static_cast<int64_t>(buffers->size())))];
  switch (r.below(7)) {
    case 0: buffers->pop_back(); return true;
    case 1: buffers->push_back(b); return true;
    case 2: b.name = "nobody"; return true;
    case 3: b.data = nullptr; return true;
    case 4: b.bytes = r.coin() ? b.bytes - 1 : 0; return true;
    case 5: b.raw = false, b.element_bytes = 3; return true;
    default:
      if (extents->empty() || r.coin())
        extents->push_back({"nobody", 1});
      else
        (*extents)[0].value = r.pick({0, -1, INT64_MIN, INT64_MAX, 21, INT32_MAX});
      return true;
  }
}

void run_program(Program& p, Device& device, Messages& messages, int64_t* compiled, int64_t* ran) {
  Random& r = p.r;
  Weights weights;
  Plan plan;
  CompileOptions options;
  options.training = r.coin();
  options.timestamps = r.coin();
  options.memory_limit = r.one_in(4) ? UINT64_MAX : kMemoryLimit;
  if (r.one_in(30)) options.record_slots = static_cast<uint32_t>(r.pick({0, 17, UINT32_MAX}));
  messages.take();
  if (upload_weights(r, device, p.graph, &weights) != Status::Ok) {
    CHECK(!messages.text.empty());
  }
  messages.take();
  const Status status = device.compile(p.graph, weights, &plan, options);
  if (status != Status::Ok) {
    CHECK(messages.count() == 1);
    CHECK_FALSE(plan.valid());
    return;
  }
  ++*compiled;
  (void)plan.passes();
  (void)plan.scratch_bytes();
  std::vector<PassTime> times;
  (void)plan.timings(&times);
  std::vector<ExtentValue> extents;
  for (const detail::ExtentInfo& extent : p.graph.data().extents)
    if (r.coin() || extent.least > 0)  // a position may be omitted
      extents.push_back({extent.name, 1 + r.below(std::min<int64_t>(extent.max, 20))});
  State state;
  if (plan.state_bytes() > kMemoryLimit) return;
  REQUIRE(plan.make_state(&state) == Status::Ok);
  std::vector<Bound> bound = bound_of(p.graph, extents);
  for (Bound& b : bound) fill(r, b.dtype, &b.bytes);
  std::vector<HostBuffer> buffers = buffers_of(bound);
  messages.take();
  {
    std::vector<HostBuffer> wrong = buffers;
    std::vector<ExtentValue> wrong_extents = extents;
    spoil(r, &wrong, &wrong_extents);
    CHECK(plan.run(wrong, wrong_extents, {.state = state}) != Status::Ok);
    CHECK(messages.count() == 1);
    if (plan.state_bytes() != 0) CHECK(plan.run(buffers, extents) != Status::Ok);
  }
  std::vector<std::vector<std::byte>> first;
  std::vector<std::byte> left, left_again;
  for (int turn = 0; turn < 2; ++turn) {
    REQUIRE(state.reset() == Status::Ok);
    messages.take();
    const Status result = plan.run(buffers, extents, {.seed = 7, .state = state});
    CHECK((result == Status::Ok) == messages.text.empty());
    if (result != Status::Ok) {
      const bool is_outside =
          result == Status::ExtentOutOfRange && !p.graph.data().bounds.empty();  // of a slice's axis
      CHECK((result == Status::IndexOutOfRange || result == Status::BufferTooSmall || is_outside));
      if (result != Status::IndexOutOfRange) return;
    }
    ++*ran;
    REQUIRE(state.save(turn == 0 ? &left : &left_again) == Status::Ok);
    if (turn == 1) CHECK(left == left_again);
    for (size_t i = 0; i < bound.size(); ++i) {
      if (turn == 0)
        first.push_back(bound[i].bytes);
      else
        CHECK(first[i] == bound[i].bytes);
    }
    for (Bound& b : bound)
      if (b.output && turn == 0) std::fill(b.bytes.begin(), b.bytes.end(), std::byte{0x5a});
  }
}

}  // namespace

TEST_CASE("hostile: programs of right and wrong calls on the CPU device", "[hostile]") {
  Messages messages;
  Device device = open_cpu({.log = messages.log(LogLevel::Error), .threads = 2});
  int64_t compiled = 0, ran = 0;
  const int64_t cases = hostile_cases("programs", 1000, [&](Random& random) {
    Program program = random_program(random);
    run_program(program, device, messages, &compiled, &ran);
  });
  tell_sound(compiled, cases);
  if (compiled > 50) CHECK(ran > compiled);  // twice each, unless a size was 0
}

}  // namespace heed::test
