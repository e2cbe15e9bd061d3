// Kernels run their loops as often as kernels/loops.cpp says, and not more: otherwise a run on an interpreted device fails. The sizes here
// make loops over data long.
#include <heed/train.hpp>

#include "graph/graph_data.hpp"
#include "harness/setup.hpp"
#include "interpreter/device.hpp"

namespace heed::interpreter {
namespace {

Tensor gradient(Graph& g, Tensor y, Tensor of) {
  const train::Upstream upstream{y, g.input("up", g.shape(y), g.dtype(y))};
  return train::gradients(g, std::span(&upstream, 1), std::span(&of, 1))[0];
}

struct RoundsWork {
  const char* name;
  void (*build)(Graph& g);
};

const RoundsWork kRoundsWorks[] = {
    {"rows of any length",
     [](Graph& g) {
       const Tensor x = g.input("x", {2, 9001});
       g.output("softmax", g.softmax(x));
       g.output("layernorm", g.layernorm(x, {}, {}, 1e-5f));
       g.output("rmsnorm", g.rmsnorm(x, {}, 1e-5f));
       g.output("l2_normalize", g.l2_normalize(x));
       g.output("argmax", g.argmax(x));
       g.output("mean", g.mean(x, 1));
       g.output("length", g.reduce(x, Reduction::L2, {1}));
       g.output("sums", g.cumsum(x, 1));
       g.output("most", g.top_k(x, 3).indices);
       g.output("loss", g.cross_entropy(x, g.input("labels", {2}, DType::I32)));
     }},
    {"sums along an inner axis",
     [](Graph& g) {
       const Tensor x = g.input("x", {3001, 3});
       g.output("mean", g.mean(x, 0));
       g.output("sums", g.cumsum(x, 0));
     }},
    {"gradients of rows",
     [](Graph& g) {
       const Tensor x = g.input("x", {300, 500});
       g.output("y", gradient(g, g.layernorm(x, g.input("gamma", {500}), {}, 1e-5f), x));
     }},
    {"gradient of a table",
     [](Graph& g) {
       const Tensor table = g.input("table", {3, 300});
       g.output("y", gradient(g, g.embedding(table, g.input("ids", {200}, DType::I32)), table));
     }},
    {"products",
     [](Graph& g) {
       g.output("tiles", g.matmul(g.input("a", {9, 1500}), g.input("b", {1500, 66})));
       g.output("few rows", g.linear(g.input("x", {1, 4000}), g.input("w", {6, 4000})));
       g.output("along n", g.matmul(g.input("c", {1, 3000}), g.input("d", {3000, 40})));
     }},
    {"attention of one query, and of many",
     [](Graph& g) {
       const Tensor k = g.input("k", {1, 1, 700, 24}), v = g.input("v", {1, 1, 700, 24});
       g.output("one", g.attention(g.input("q", {1, 2, 1, 24}), k, v).output);
       g.output("many", g.attention(g.input("p", {1, 1, 40, 24}), k, v, {.causal = Causal::BottomRight}).output);
     }},
    {"tokens that are drawn",
     [](Graph& g) {
       const Tensor x = g.input("logits", {2, 5000}), previous = g.input("previous", {2, 300}, DType::I32);
       g.output("ids", g.sample(x, {.previous = previous, .repetition_penalty = 1.5f, .top_k = 7, .top_p = 0.5f}));
     }},
    {"rows that are turned, and copied",
     [](Graph& g) {
       g.output("turned", g.rotary(g.input("x", {2, 3, 1200})));
       g.output("taken", g.take(g.input("y", {1, 6, 1500}), 1, g.input("places", {1, 4}, DType::I32)));
       g.output("kept", g.dropout(g.input("z", {3, 999}), 0.25f));
     }},
    {"gradients of attention",
     [](Graph& g) {
       const Tensor q = g.input("q", {1, 4, 60, 24}), kv = g.input("kv", {1, 1, 60, 24});
       g.output("y", gradient(g, g.attention(q, kv, kv).output, kv));
     }},
};

}  // namespace

TEST_CASE("interpreter: loops are as long as lowering knows", "[interpreter]") {
  for (const char* word : {"spirv:floor", "spirv:intel", "spirv:nvidia"})
    for (const RoundsWork& work : kRoundsWorks) {
      INFO(word << ", " << work.name);
      test::Messages messages;
      Device device = open(machine_of(word), messages.log());
      Graph g;
      work.build(g);
      Plan plan;
      REQUIRE(device.compile(g, {}, &plan, {.training = true}) == Status::Ok);
      const detail::GraphData& data = g.data();
      std::vector<std::vector<std::byte>> memory;
      std::vector<HostBuffer> buffers;
      for (const auto* list : {&data.inputs, &data.outputs})
        for (const detail::NamedTensor& named : *list) {
          const TensorInfo& info = data.tensors[named.tensor];
          size_t bytes = size_of(info.dtype);
          for (int i = 0; i < info.rank; ++i)
            bytes *= static_cast<size_t>(data.sizes.evaluate(info.dims[static_cast<size_t>(i)], {}));
          memory.emplace_back(bytes);  // zeros
        }
      size_t next = 0;
      for (const auto* list : {&data.inputs, &data.outputs})
        for (const detail::NamedTensor& named : *list) buffers.emplace_back(named.name, std::span(memory[next++]));
      CHECK(plan.run(buffers) == Status::Ok);
      CHECK(messages.text == "");
    }
}

}  // namespace heed::interpreter
