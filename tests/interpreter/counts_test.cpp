// Counts of kernels equal what their problems need. A hidden test prints how well their accesses fit the memory of GPUs:
//   build/tests/heed_tests "[traffic]"
#include "graph/graph_data.hpp"
#include "harness/catch.hpp"
#include "interpreter/device.hpp"

namespace heed::interpreter {
namespace {

constexpr size_t kMostBytes = 4 << 20;  // bytes of a tensor

struct Work {
  const char* name;
  void (*build)(Graph& g, DType type);
};

const Work kWorks[] = {
    {"product 1024x256x1024",
     [](Graph& g, DType type) {
       g.output("y", g.linear(g.input("x", {1024, 256}, type), g.input("w", {1024, 256}, type)));
     }},
    {"the same, b not transposed",
     [](Graph& g, DType type) {
       g.output("y", g.matmul(g.input("x", {1024, 256}, type), g.input("w", {256, 1024}, type)));
     }},
    {"product of one row",
     [](Graph& g, DType type) {
       g.output("y", g.linear(g.input("x", {1, 1024}, type), g.input("w", {512, 1024}, type)));
     }},
    {"attention 256, heads of 64",
     [](Graph& g, DType type) {
       g.output("y", g.attention(g.input("q", {1, 2, 256, 64}, type), g.input("k", {1, 2, 256, 64}, type),
                                 g.input("v", {1, 2, 256, 64}, type))
                         .output);
     }},
    {"softmax 64x512", [](Graph& g, DType type) { g.output("y", g.softmax(g.input("x", {64, 512}, type))); }},
    {"layernorm 64x768",
     [](Graph& g, DType type) {
       g.output("y", g.layernorm(g.input("x", {64, 768}, type), g.input("gamma", {768}, type),
                                 g.input("beta", {768}, type), 1e-5f));
     }},
};

using AllCounts = std::map<std::string, Counts>;

// The counts of a run on a machine, by kernel; empty if the machine does not support the type.
AllCounts counts_of(const Machine& machine, void (*build)(Graph& g, DType type), DType type) {
  AllCounts counts;
  Device device = open(machine, {});
  Graph g;
  build(g, type);
  Plan plan;
  if (device.compile(g, {}, &plan) != Status::Ok) return counts;
  std::vector<std::vector<std::byte>> memory;
  std::vector<HostBuffer> buffers;
  for (const auto* list : {&g.data().inputs, &g.data().outputs})
    for (const detail::NamedTensor& named : *list) {
      memory.emplace_back(kMostBytes);
      buffers.emplace_back(named.name, std::span<std::byte>(memory.back()));
    }
  trials_of(device).counts = &counts;
  CHECK(plan.run(buffers) == Status::Ok);
  return counts;
}

// The sum over all kernels of a run.
Counts sum_of(const AllCounts& counts) {
  Counts sum;
  for (const auto& [name, one] : counts) sum += one;
  return sum;
}

void product(Graph& g, DType type) {
  g.output("y", g.linear(g.input("x", {128, 96}, type), g.input("w", {128, 96}, type)));
}

}  // namespace

TEST_CASE("interpreter: counts of a product", "[interpreter]") {
  constexpr uint64_t kAll = 128 * 128 * 96;
  const Counts plain = sum_of(counts_of(machine_of("spirv:nvidia"), product, DType::F32));
  CHECK(plain.multiply_adds == kAll);
  CHECK(plain.multiply_issues == kAll / 32);
  CHECK(plain.matrix_multiply_adds == 0);
  CHECK(plain.lanes <= 32 * plain.issues);
  CHECK(plain.shared_turns >= plain.fewest_turns);
  // Each tile reads its rows and columns once, and stores the result once.
  CHECK(plain.touched[0] * 32 >= 3 * 128 * 96 * 4);
  CHECK(plain.segments[2] * 128 >= plain.bytes);
  const Counts matrix = sum_of(counts_of(machine_of("spirv:nvidia"), product, DType::F16));
  CHECK(matrix.matrix_multiply_adds == kAll);
  CHECK(matrix.matrix_operations == kAll / (16 * 16 * 16));
  CHECK(matrix.barriers > 0);
  const Counts bfloat = sum_of(counts_of(machine_of("spirv:nvidia"), product, DType::BF16));
  CHECK(bfloat.matrix_multiply_adds == kAll);
  CHECK(bfloat.matrix_operations == kAll / (16 * 8 * 16));
}

TEST_CASE("interpreter: counts of rows", "[interpreter]") {
  const Counts counts = sum_of(counts_of(
      machine_of("spirv:amd"), [](Graph& g, DType type) { g.output("y", g.softmax(g.input("x", {8, 512}, type))); },
      DType::F32));
  CHECK(counts.touched[2] * 128 == 2 * 8 * 512 * 4);
  CHECK(counts.specials >= 8 * 512);
  CHECK(counts.multiply_adds < 8 * 512 * 4);
  Counts twice = counts;
  twice += counts;
  twice.scale(3, 2);
  CHECK(twice.specials == 3 * counts.specials);
  CHECK(twice.touched[2] == 3 * counts.touched[2]);
}

TEST_CASE("interpreter: traffic of kernels", "[.][traffic]") {
  std::printf("%-14s %-28s %-4s %-34s %8s %8s\n", "machine", "work", "type", "kernel", "shared", "buffers");
  const auto ratio = [](uint64_t a, uint64_t b) {
    return static_cast<double>(a) / static_cast<double>(std::max<uint64_t>(b, 1));
  };
  for (const Machine& machine : machines()) {
    if (machine.word.starts_with("drawn")) continue;
    for (const Work& work : kWorks)
      for (const DType type : {DType::F32, DType::F16})
        for (const auto& [name, c] : counts_of(machine, work.build, type))
          std::printf("%-14s %-28s %-4s %-34s %8.2f %8.2f\n", machine.word.c_str(), work.name, to_string(type),
                      name.c_str(), ratio(c.shared_turns, c.fewest_turns),
                      ratio(c.segments[0] * kSegments[0], c.bytes));
  }
}

}  // namespace heed::interpreter
