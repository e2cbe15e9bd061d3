// Counts the passes and dispatches of a training step for each layer of a model.
#include "kernels/lowered.hpp"

#include <map>

namespace heed::train_tests {
namespace {

struct Counts {
  int64_t passes = 0, dispatches = 0;
  std::map<std::string, int64_t> by_op;
};

// A step of a causal model, 384 wide, with so many layers: loss, gradients, AdamW.
Counts counts_of(int layers, nn::NormPlacement placement, float dropout) {
  Graph g;
  const Tensor ids = g.input("ids", {8, 256}, DType::I32), next = g.input("next", {8, 256}, DType::I32);
  nn::EncoderLayerOptions layer;
  layer.attention.heads = 6;
  layer.attention.causal = Causal::TopLeft;
  layer.attention.attention_dropout = dropout;
  layer.feed_forward.activation = Activation::GeluErf;
  layer.norm.placement = placement;
  Tensor x = g.embedding(g.weight("characters", {96, 384}), ids);
  x = nn::encoder_stack(g, x, "layers", layer, {.layers = layers, .final_norm = "norm"});
  const Tensor losses = g.cross_entropy(nn::linear(g, x, "out", 96), next);
  const Tensor loss = g.mean(g.reshape(losses, {1, 8 * 256}), 1);
  train::Optimizer optimizer;
  REQUIRE(optimizer.add_weights(g) == Status::Ok);
  const std::vector<Tensor> gradients = train::gradients(g, loss, optimizer.weights(g));
  g.output("loss", loss);
  g.output("report", optimizer.step(g, gradients, optimizer.settings(g)));
  INFO(g.error());
  REQUIRE(g.status() == Status::Ok);
  kernel_tests::Lowered lowered(g, true);
  Counts counts;
  for (const Node& node : lowered.schedule.passes) {
    ++counts.passes;
    ++counts.by_op[to_string(node.op)];
    counts.dispatches += lowered.lower(node).dispatches.count;
  }
  return counts;
}

}  // namespace

TEST_CASE("a training step takes few passes and dispatches for each layer", "[train][kernels]") {
  struct Row {
    const char* name;
    nn::NormPlacement placement;
    float dropout;
    int64_t passes, dispatches;
  };
  // 4 matmuls forward, and 8 backward. Two norms and an attention each way. Two sums of biases. Gradients of norms and of attention have
  // two dispatches, and so have the gradients of two small matrices, whose long sums are split.
  for (const Row& row : {Row{"norms before", nn::NormPlacement::Pre, 0.0f, 20, 24},
                         Row{"norms behind", nn::NormPlacement::Post, 0.0f, 20, 24},
                         Row{"dropout of weights", nn::NormPlacement::Pre, 0.1f, 20, 24}}) {
    INFO(row.name);
    const Counts one = counts_of(1, row.placement, row.dropout), three = counts_of(3, row.placement, row.dropout);
    std::string all;
    for (const auto& [op, count] : three.by_op) {
      const auto found = one.by_op.find(op);
      all += op + " " + std::to_string(count - (found != one.by_op.end() ? found->second : 0)) + "/2, ";
    }
    INFO(all);
    CHECK(three.passes - one.passes == 2 * row.passes);
    CHECK(three.dispatches - one.dispatches == 2 * row.dispatches);
  }
}

}  // namespace heed::train_tests
