// Prints how the accesses of kernels fit the memory of GPUs. Hidden, since no figure is right or wrong.
//   build/tests/heed_tests "[traffic]"

#include "graph/graph_data.hpp"
#include "harness/catch.hpp"
#include "interpreter/device.hpp"

namespace heed::interpreter {
namespace {

constexpr size_t kMostBytes = 4 << 20;  // of a tensor

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

}  // namespace

TEST_CASE("interpreter: traffic of kernels", "[.][traffic]") {
  std::printf("%-14s %-28s %-4s %-34s %8s %8s\n", "machine", "work", "type", "kernel", "shared", "buffers");
  for (const Machine& machine : machines()) {
    if (machine.word.starts_with("drawn")) continue;
    Device device = open(machine, {});
    for (const Work& work : kWorks)
      for (const DType type : {DType::F32, DType::F16}) {
        std::map<std::string, Traffic> traffic;
        Trials& trials = trials_of(device);
        trials = {};
        Graph g;
        work.build(g, type);
        Plan plan;
        if (device.compile(g, {}, &plan) != Status::Ok) continue;
        std::vector<std::vector<std::byte>> memory;
        std::vector<HostBuffer> buffers;
        for (const auto* list : {&g.data().inputs, &g.data().outputs})
          for (const detail::NamedTensor& named : *list) {
            memory.emplace_back(kMostBytes);
            buffers.emplace_back(named.name, std::span<std::byte>(memory.back()));
          }
        trials.traffic = &traffic;
        CHECK(plan.run(buffers) == Status::Ok);
        for (const auto& [name, t] : traffic)
          std::printf("%-14s %-28s %-4s %-34s %8.2f %8.2f\n", machine.word.c_str(), work.name, to_string(type),
                      name.c_str(),
                      static_cast<double>(t.shared_turns) / static_cast<double>(std::max<uint64_t>(t.fewest_turns, 1)),
                      static_cast<double>(t.sectors) / static_cast<double>(std::max<uint64_t>(t.fewest_sectors, 1)));
      }
  }
}

}  // namespace heed::interpreter
