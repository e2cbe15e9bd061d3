// Losses of labels.
#include <heed/nn.hpp>

#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

// Views scores [N, C, ...] and labels [N, ...] as rows of classes.
template <bool of_log_probabilities>
void loss(Call& call) {
  Graph& g = call.g;
  const int rank = call.rank(0);
  const std::string_view reduction = call.text("reduction", "mean");
  const Tensor x = call.tensor(0), labels = call.tensor(1), weights = call.has(2) ? call.tensor(2) : Tensor{};
  if (call.failed() || rank < 2) return call.fail("[N, C, ...] is needed");
  std::vector<int> last = {0}, second = {0, rank - 1};  // move the class axis to the end
  for (int i = 2; i < rank; ++i) {
    last.push_back(i);
    second.push_back(i - 1);
  }
  last.push_back(1);
  nn::CrossEntropyOptions options;
  options.class_weights = weights;
  options.ignored = call.integer("ignore_index", -1);
  options.of_log_probabilities = of_log_probabilities;
  options.reduction = reduction == "none"  ? nn::LossReduction::None
                      : reduction == "sum" ? nn::LossReduction::Sum
                                           : nn::LossReduction::Mean;
  const nn::CrossEntropyResult made = nn::cross_entropy(g, g.permute(x, last), labels, options);
  if (call.failed()) return;
  call.give(made.loss, call.type(0), reduction != "none");
  if (call.node.outputs.size() > 1) call.give(g.permute(made.log_probabilities, second), call.type(0));
}

constexpr Operator kLossOperators[] = {{"NegativeLogLikelihoodLoss", loss<true>},
                                       {"SoftmaxCrossEntropyLoss", loss<false>}};

}  // namespace

std::span<const Operator> loss_operators() { return kLossOperators; }

}  // namespace heed::onnx
