#include "graph/graph_data.hpp"

#include <algorithm>

#include "base/logging.hpp"

namespace heed::detail {

bool compute(const SizeTable& sizes, const ExtentInfo& extent, std::span<const int64_t> extents, int64_t* value,
             std::string* wrong) {
  const SizeRule& rule = *sizes.rule_of(extent.size);
  const int64_t a = sizes.evaluate(rule.a, extents), b = sizes.evaluate(rule.b, extents);
  const bool divides = rule.kind != SizeRule::Kind::Difference;
  *value = divides ? a / std::max<int64_t>(b, 1) : a - b;
  const auto number = [](int64_t x) { return static_cast<long long>(x); };
  if (rule.kind == SizeRule::Kind::Quotient && *value * b != a)
    *wrong = format("%s is no whole number: %lld / %lld", extent.name.c_str(), number(a), number(b));
  else if (*value < extent.least || *value > extent.max)
    *wrong = format("%s is %lld; this plan takes %lld to %lld", extent.name.c_str(), number(*value),
                    number(extent.least), number(extent.max));
  return wrong->empty();
}

GraphMark::GraphMark(const GraphData& data)
    : sizes_(data.sizes.count()),
      extents_(data.extents.size()),
      bounds_(data.bounds.size()),
      tensors_(data.tensors.size()),
      nodes_(data.nodes.size()),
      inputs_(data.inputs.size()),
      weights_(data.weights.size()),
      outputs_(data.outputs.size()),
      states_(data.states.size()),
      kept_weights_(data.kept_weights.size()),
      constants_(data.constants.size()),
      labels_(data.labels),
      dropout_streams_(data.dropout_streams),
      sample_streams_(data.sample_streams) {
  for (const ExtentInfo& extent : data.extents) least_.push_back(extent.least);
  for (const NamedTensor& state : data.states) writes_.push_back(data.tensors[state.tensor].writes);
}

void GraphMark::restore(GraphData* data) const {
  const auto cut = [](auto* list, size_t count) {
    list->erase(list->begin() + static_cast<ptrdiff_t>(count), list->end());
  };
  data->sizes.cut(sizes_);
  cut(&data->extents, extents_);
  for (size_t i = 0; i < extents_; ++i) data->extents[i].least = least_[i];
  cut(&data->bounds, bounds_);
  cut(&data->tensors, tensors_);
  cut(&data->nodes, nodes_);
  cut(&data->inputs, inputs_);
  cut(&data->weights, weights_);
  cut(&data->outputs, outputs_);
  cut(&data->states, states_);
  cut(&data->kept_weights, kept_weights_);
  cut(&data->constants, constants_);
  data->labels = labels_;
  data->dropout_streams = dropout_streams_;
  data->sample_streams = sample_streams_;
  for (size_t i = 0; i < states_; ++i) data->tensors[data->states[i].tensor].writes = writes_[i];
  data->status = Status::Ok;
  data->error.clear();
}

}  // namespace heed::detail
