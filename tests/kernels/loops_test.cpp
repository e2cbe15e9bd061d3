// llvmpipe ends all loops of an invocation after 65,535 iterations without an error. Work beyond that is split among dispatches and has the
// right results, or is refused at compile. Work just below the limit has the right results.
#include "kernels/loops.hpp"

#include <heed/train.hpp>

#include "harness/devices.hpp"
#include "kernels/lowered.hpp"

namespace heed::kernel_tests {
namespace {

struct Row {
  const char* name;  // the operation's name
  int64_t below, beyond;
  void (*build)(Graph& g, int64_t size);
};

void embedding_backward(Graph& g, int64_t size) {
  const Tensor table = g.input("table", {3, 5});
  const train::Upstream upstream{g.embedding(table, g.input("ids", {size}, DType::I32)), g.input("up", {size, 5})};
  g.output("y", train::gradients(g, std::span(&upstream, 1), std::span(&table, 1))[0]);
}
// Few keys and many queries, or the other way round.
template <bool kManyKeys>
void attention_backward(Graph& g, int64_t size) {
  const int64_t queries = kManyKeys ? 2 : size, keys = kManyKeys ? size : 3;
  const Tensor q = g.input("q", {1, 4, queries, 64}), kv = g.input("kv", {1, 1, keys, 64});
  const train::Upstream upstream{g.attention(q, kv, kv).output, g.input("up", {1, 4, queries, 64})};
  g.output("y", train::gradients(g, std::span(&upstream, 1), std::span(kManyKeys ? &q : &kv, 1))[0]);
}
// The pass of embedding_backward, for F16.
void narrow_embedding_backward(Graph& g, int64_t size) {
  const Tensor table = g.cast(g.input("table", {3, 5}), DType::F16);
  const Tensor up = g.cast(g.input("up", {size, 5}), DType::F16);
  const train::Upstream upstream{g.embedding(table, g.input("ids", {size}, DType::I32)), up};
  g.output("y", g.cast(train::gradients(g, std::span(&upstream, 1), std::span(&table, 1))[0], DType::F32));
}
void norm_backward(Graph& g, int64_t size) {
  const Tensor x = g.input("x", {size, 1}), gamma = g.input("gamma", {1});
  const train::Upstream upstream{g.rmsnorm(x, gamma, 1.0f), g.input("up", {size, 1})};
  g.output("y", train::gradients(g, std::span(&upstream, 1), std::span(&gamma, 1))[0]);
}
// The gradient of a bias that a layer adds to all of its rows.
void bias_backward(Graph& g, int64_t size) {
  const Tensor bias = g.input("bias", {3});
  const train::Upstream upstream{g.add(g.input("x", {size, 3}), bias), g.input("up", {size, 3})};
  g.output("y", train::gradients(g, std::span(&upstream, 1), std::span(&bias, 1))[0]);
}
template <Reduction kKind>
void reduce_first(Graph& g, int64_t size) {
  g.output("y", g.reduce(g.input("x", {size, 3}), kKind, {0}));
}
void masked_mean(Graph& g, int64_t size) {
  g.output("y", g.mean(g.input("x", {1, size, 3}), 1, keep(g.cast(g.input("mask", {1, size}), DType::U8))));
}
template <auto kCall>
void of_row(Graph& g, int64_t size) {
  g.output("y", kCall(g, g.input("x", {1, size})));
}

// llvmpipe's rows have as many invocations as those of the portability floor.
const Row kRows[] = {
    {"cross_entropy", 4'180'000, 4'195'000,
     [](Graph& g, int64_t size) {
       g.output("y", g.cross_entropy(g.input("x", {1, size}), g.input("label", {1}, DType::I32)));
     }},
    {"argmax", 260'000, 262'144,
     [](Graph& g, int64_t size) { g.output("y", g.reduce(g.input("x", {size, 3}), Reduction::Max, {0})); }},
    {"norm_backward_sums", 1'046'000, 1'049'000, norm_backward},
    {"softmax", 11'150'000, 11'190'000, of_row<[](Graph& g, Tensor x) { return g.softmax(x); }>},
    {"layernorm", 11'150'000, 11'190'000, of_row<[](Graph& g, Tensor x) { return g.layernorm(x, {}, {}, 1e-5f); }>},
    {"rmsnorm", 11'150'000, 11'190'000, of_row<[](Graph& g, Tensor x) { return g.rmsnorm(x, {}, 1e-5f); }>},
    {"l2_normalize", 11'150'000, 11'190'000, of_row<[](Graph& g, Tensor x) { return g.l2_normalize(x, 1e-5f); }>},
    {"log_softmax", 2'780'000, 2'800'000, of_row<[](Graph& g, Tensor x) { return g.log_softmax(x); }>},
    {"argmax", 8'350'000, 8'390'000, of_row<[](Graph& g, Tensor x) { return g.argmax(x); }>},
};

// The gradient of a result of x.
template <auto kCall>
void gradient_of_row(Graph& g, int64_t size) {
  const Tensor x = g.input("x", {1, size}), y = kCall(g, x);
  const train::Upstream upstream{y, g.input("up", g.shape(y))};
  g.output("y", train::gradients(g, std::span(&upstream, 1), std::span(&x, 1))[0]);
}

// Sizes beyond the limit of kernels that run too long just below it.
struct TooLong {
  const char* name;
  int64_t size;
  void (*build)(Graph& g, int64_t size);
};
const TooLong kTooLong[] = {
    {"softmax_backward", 9'000'000, gradient_of_row<[](Graph& g, Tensor x) { return g.softmax(x); }>},
    {"norm_backward", 9'000'000, gradient_of_row<[](Graph& g, Tensor x) { return g.layernorm(x, {}, {}, 1e-5f); }>},
    {"cross_entropy_backward", 9'000'000,
     gradient_of_row<[](Graph& g, Tensor x) { return g.cross_entropy(x, g.input("label", {1}, DType::I32)); }>},
    {"rotary", 34'000'000, of_row<[](Graph& g, Tensor x) { return g.rotary(x); }>},
    {"sample", 9'000'000, of_row<[](Graph& g, Tensor x) { return g.sample(x, {.top_k = 7}); }>},
    {"embedding", 9'000'000,
     [](Graph& g, int64_t size) {
       g.output("y", g.embedding(g.input("table", {2, size}), g.input("ids", {1}, DType::I32)));
     }},
};

// Work beyond the limit of one dispatch, split among several.
struct Cut {
  const char* name;
  int64_t size;
  void (*build)(Graph& g, int64_t size);
  float error = 1e-4f;  // relative to the largest result
};
const Cut kCut[] = {
    {"embedding_backward", 200'003, embedding_backward},
    {"embedding_backward of f16", 65'600, narrow_embedding_backward, 2e-3f},
    {"mean", 300'001, [](Graph& g, int64_t size) { g.output("y", g.mean(g.input("x", {size, 3}), 0)); }},
    {"gradient of a bias", 270'000, bias_backward},
    {"reduce by sums", 245'761, reduce_first<Reduction::Sum>},
    {"reduce by lengths", 280'000, reduce_first<Reduction::L2>},
    {"reduce by powers", 300'000, reduce_first<Reduction::LogSumExp>},
    {"reduce of a row", 9'000'000, of_row<[](Graph& g, Tensor x) { return g.reduce(x, Reduction::LogSumExp, {1}); }>},
    {"reduce of whole numbers", 530'000,
     [](Graph& g, int64_t size) { g.output("y", g.reduce(g.input("x", {size, 3}, DType::I32), Reduction::Sum, {0})); },
     0.0f},
    {"mean with a mask", 270'000, masked_mean},
    {"cumsum", 70'000, [](Graph& g, int64_t size) { g.output("y", g.cumsum(g.input("x", {2, size, 3}), 1)); }},
    {"cumsum of rows", 935'000, of_row<[](Graph& g, Tensor x) { return g.cumsum(x, 1); }>},
    {"top_k", 140'000, of_row<[](Graph& g, Tensor x) { return g.top_k(x, 100).indices; }>, 0.0f},
    {"attention_backward to keys", 8'192, attention_backward<false>},
    {"attention_backward to queries", 100'000, attention_backward<true>},
};

void cut_along_inner_axis(Graph& g, int64_t size) { g.output("y", g.cumsum(g.input("x", {size, 3}), 0)); }

// Sums of reproducible plans, whose order does not depend on the number of dispatches.
const Cut kInOrder[] = {
    {"sum", 270'003, reduce_first<Reduction::Sum>},
    {"mean", 270'000, reduce_first<Reduction::Mean>},
    {"product", 123'000,
     [](Graph& g, int64_t size) {
       const Tensor x = g.input("x", {size, 3}), one = g.div(x, x);
       g.output("y", g.reduce(g.add(one, g.scale(x, 2e-5f)), Reduction::Product, {0}));
     }},
    {"length", 140'000, reduce_first<Reduction::L2>},
    {"powers", 250'001, reduce_first<Reduction::LogSumExp>},
    {"mean with a mask", 270'000, masked_mean},
    {"gradient of a bias", 270'000, bias_backward},
    {"whole numbers", 270'000,
     [](Graph& g, int64_t size) { g.output("y", g.reduce(g.input("x", {size, 3}, DType::I32), Reduction::Sum, {0})); }},
    {"cumsum", 900'000, [](Graph& g, int64_t size) { g.output("y", g.cumsum(g.input("x", {size, 2}), 0)); }},
    {"cumsum of earlier ones", 1'000'000, of_row<[](Graph& g, Tensor x) { return g.cumsum(x, 1, true); }>},
    {"cumsum from the end", 1'000'001, of_row<[](Graph& g, Tensor x) { return g.cumsum(x, 1, false, true); }>},
    {"cumsum of later ones", 1'000'000, of_row<[](Graph& g, Tensor x) { return g.cumsum(x, 1, true, true); }>},
};

Capabilities like_llvmpipe() {
  Capabilities device;
  device.most_rounds = kernels::kLlvmpipeRounds;
  device.max_storage_range = 1u << 30;
  device.storage_16bit = true;
  return device;
}

Status selected(const Graph& g, std::string* messages) {
  Lowered lowered(g, true, like_llvmpipe());
  KernelList kernels;
  for (const Node& node : lowered.schedule.passes)
    if (const Status status = lowered.select(node, &kernels); status != Status::Ok) {
      *messages = lowered.messages.text;
      return status;
    }
  return Status::Ok;
}

// Values near 1, whose sums show whether some are missing.
std::vector<std::byte> values_of(const detail::GraphData& data, const detail::NamedTensor& named) {
  const TensorInfo& info = data.tensors[named.tensor];
  size_t count = 1;
  for (int i = 0; i < info.rank; ++i)
    count *= static_cast<size_t>(data.sizes.evaluate(info.dims[static_cast<size_t>(i)], {}));
  std::vector<std::byte> bytes(count * 4);
  for (size_t i = 0; i < count; ++i) {
    const float number = 0.5f + static_cast<float>(i % 1009) / 1009.0f;
    const auto id = static_cast<int32_t>(i % 3);
    std::memcpy(bytes.data() + 4 * i, info.dtype == DType::I32 ? static_cast<const void*>(&id) : &number, 4);
  }
  return bytes;
}

std::vector<float> result_of(Device device, const Graph& g, const CompileOptions& options = {}) {
  const detail::GraphData& data = g.data();
  Plan plan;
  REQUIRE(device.compile(g, {}, &plan, options) == Status::Ok);
  std::vector<std::vector<std::byte>> inputs;
  for (const detail::NamedTensor& input : data.inputs) inputs.push_back(values_of(data, input));
  std::vector<std::byte> output = values_of(data, data.outputs[0]);
  std::vector<HostBuffer> buffers = {{data.outputs[0].name, std::span(output)}};
  for (size_t i = 0; i < inputs.size(); ++i) buffers.push_back({data.inputs[i].name, std::span(inputs[i])});
  REQUIRE(plan.run(buffers) == Status::Ok);
  std::vector<float> values(output.size() / 4);
  for (size_t i = 0; i < values.size(); ++i) {
    std::memcpy(&values[i], output.data() + 4 * i, 4);
    int32_t whole = 0;
    std::memcpy(&whole, output.data() + 4 * i, 4);
    if (data.tensors[data.outputs[0].tensor].dtype == DType::I32) values[i] = static_cast<float>(whole);
  }
  return values;
}

void compare(Device device, Device cpu, void (*build)(Graph& g, int64_t size), int64_t size, float error) {
  Graph g;
  build(g, size);
  const std::vector<float> got = result_of(device, g), want = result_of(cpu, g);
  REQUIRE(got.size() == want.size());
  float largest = 0.0f;
  for (const float value : want) largest = std::max(largest, std::abs(value));
  size_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) wrong += std::abs(got[i] - want[i]) <= error * largest ? 0 : 1;
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("loops: the rounds of every kernel are counted", "[kernels]") {
  for (uint32_t i = 0; i < kKernelCount; ++i) {
    const auto id = static_cast<KernelId>(i);
    INFO(kernel_info(id).name);
    CHECK(kernels::counts_rounds(id));
  }
}

TEST_CASE("loops: what llvmpipe would cut off is refused, and no more", "[kernels]") {
  for (const Row& row : kRows) {
    INFO(row.name);
    Graph below, beyond;
    row.build(below, row.below);
    row.build(beyond, row.beyond);
    std::string message;
    CHECK(selected(below, &message) == Status::Ok);
    CHECK(message == "");
    CHECK(selected(beyond, &message) == Status::Unsupported);
    for (const char* word : {row.name, "llvmpipe", "65535", "times", "Split the axis in the graph"})
      CHECK_THAT(message, holds(word));
  }
  for (const TooLong& row : kTooLong) {
    INFO(row.name);
    Graph below, beyond;
    row.build(below, row.size / 100);
    row.build(beyond, row.size);
    std::string message;
    CHECK(selected(below, &message) == Status::Ok);
    CHECK(selected(beyond, &message) == Status::Unsupported);
    for (const char* word : {row.name, "llvmpipe", "65535", "Split the axis in the graph"})
      CHECK_THAT(message, holds(word));
  }
  for (const Cut& cut : kCut)
    for (const int64_t size : {cut.size, 7 * cut.size}) {
      INFO(cut.name << " " << size);
      Graph g;
      cut.build(g, size);
      std::string message;
      CHECK(selected(g, &message) == Status::Ok);
      CHECK(message == "");
    }
  // Long sums are split among workgroups, so that loops stay far below the limit.
  Graph g;
  g.output("product", g.matmul(g.input("a", {1, 1 << 22}), g.input("b", {1 << 22, 1})));
  const Tensor keys = g.input("keys", {1, 1, 1 << 19, 32});
  g.output("attention", g.attention(g.input("queries", {1, 1, 1, 32}), keys, keys).output);
  std::string message;
  CHECK(selected(g, &message) == Status::Ok);
  CHECK(message == "");
}

TEST_CASE("loops: the largest sizes that llvmpipe takes", "[ops]") {
  Device cpu = test::open_cpu();
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.word.find("llvmpipe") == std::string::npos) continue;
    for (const Row& row : kRows) {
      INFO(on.word << " " << row.name);
      Device device = on.device;
      Plan plan;
      Graph beyond;
      row.build(beyond, row.beyond);
      ops::take_checked_messages();
      CHECK(device.compile(beyond, {}, &plan) == Status::Unsupported);
      CHECK_THAT(ops::take_checked_messages(), holds("llvmpipe ends loops after 65535"));
      compare(device, cpu, row.build, row.below, 1e-4f);
    }
  }
}

TEST_CASE("loops: what llvmpipe takes in several dispatches", "[ops]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.word.find("llvmpipe") == std::string::npos) continue;
    for (const Cut& cut : kCut) {
      INFO(on.word << " " << cut.name);
      compare(on.device, test::open_cpu(), cut.build, cut.size, cut.error);
    }
  }
}

TEST_CASE("loops: sums of reproducible plans have the same bits in several dispatches", "[ops][reproducible]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.word.find("llvmpipe") == std::string::npos) continue;
    for (const Cut& cut : kInOrder) {
      INFO(on.word << " " << cut.name);
      Graph g;
      cut.build(g, cut.size);
      Device device = on.device;
      Plan plan;
      REQUIRE(device.compile(g, {}, &plan, {.reproducible = true}) == Status::Ok);
      uint32_t dispatches = 0;
      for (const PassInfo& pass : plan.passes())
        dispatches += pass.op == "reduce" || pass.op == "cumsum" ? pass.dispatches : 0;
      CHECK(dispatches > 1);
      const std::vector<float> got = result_of(device, g, {.reproducible = true}),
                               want = result_of(test::open_cpu(), g, {.reproducible = true});
      REQUIRE(got.size() == want.size());
      CHECK(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("loops: what several dispatches cannot do is refused with what to do instead", "[kernels]") {
  Graph g;
  cut_along_inner_axis(g, 16'000'000);
  std::string message;
  CHECK(selected(g, &message) == Status::Unsupported);
  CHECK_THAT(message, holds("15728640 are the most, so split the axis in the graph"));
}

}  // namespace heed::kernel_tests
