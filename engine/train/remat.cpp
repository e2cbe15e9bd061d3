#include "train/remat.hpp"

#include <algorithm>

#include "train/layer_number.hpp"

namespace heed::train {
namespace {

// The number i of the layer NAME.i to which a label belongs; -1: none.
int64_t layer_of_label(std::string_view label, std::string_view name) {
  if (!label.starts_with(name) || label.size() <= name.size() || label[name.size()] != '.') return -1;
  return layer_number(label.substr(name.size() + 1));
}

}  // namespace

Remat::Remat(Backflow& flow, std::string_view name) : flow_(flow) {
  if (!name.empty()) find(name);
}

void Remat::find(std::string_view name) {
  const std::vector<Node>& nodes = flow_.data().nodes;
  std::map<int64_t, Layer> by_number;
  for (size_t n = 0; n < nodes.size(); ++n)
    if (const int64_t number = layer_of_label(nodes[n].label, name); number >= 0)
      by_number.try_emplace(number, Layer{n, n}).first->second.last = n;
  for (const auto& [number, layer] : by_number) layers_.push_back(layer);
  for (Layer& layer : layers_) {
    for (size_t n = layer.first; n <= layer.last; ++n) layer.is_kept = layer.is_kept || !may_repeat(nodes[n]);
    for (const Layer& other : layers_)
      layer.is_kept = layer.is_kept || (&other != &layer && other.first <= layer.last && layer.first <= other.last);
  }
}

bool Remat::may_repeat(const Node& node) const {
  const auto is_state = [&](Tensor t) { return t.valid() && flow_.build().is_state(flow_.info(t).storage); };
  // A copy would read the current value of the state.
  const auto has_changed = [&](Tensor t) {
    return is_state(t) && flow_.info(t).writes != flow_.info({flow_.info(t).storage}).writes;
  };
  return info_of(node.op).repeats && std::none_of(node.outputs.begin(), node.outputs.end(), is_state) &&
         std::none_of(node.inputs.begin(), node.inputs.end(), has_changed);
}

// Maps a tensor of the layer to its copy; inputs of the layer are unchanged.
Tensor Remat::copy_of(Tensor t) {
  if (!t.valid()) return t;
  if (const auto known = copies_.find(t.id); known != copies_.end()) return {known->second};
  TensorInfo info = flow_.info(t);
  const auto owner = copies_.find(info.storage);
  if (owner == copies_.end()) return t;
  const Tensor view = flow_.build().add_view(info, owner->second);
  copies_[t.id] = view.id;
  return view;
}

void Remat::repeat(Layer& layer) {
  detail::GraphData& data = flow_.data();
  layer.copies = data.nodes.size();
  for (size_t n = layer.first; n <= layer.last; ++n) {
    Node copy = data.nodes[n];
    copy.label = "again." + copy.label;
    if (!data.labels.empty()) copy.label = data.labels.back() + "." + copy.label;
    for (Tensor& input : copy.inputs) input = copy_of(input);
    for (Tensor& output : copy.outputs) {
      if (!output.valid()) continue;
      const uint32_t storage = flow_.info(output).storage;
      if (copies_.count(storage) == 0) {
        const Tensor made = flow_.build().add_storage(flow_.info({storage}));
        copies_[storage] = made.id;
        flow_.is_copy(made, {storage});
      }
      output = copy_of(output);
    }
    data.nodes.push_back(std::move(copy));
  }
}

Node Remat::seen(size_t n) {
  const auto layer = std::find_if(layers_.begin(), layers_.end(),
                                  [&](const Layer& one) { return one.first <= n && n <= one.last && !one.is_kept; });
  if (layer == layers_.end()) return flow_.data().nodes[n];
  if (layer->copies == 0) repeat(*layer);
  return flow_.data().nodes[layer->copies + n - layer->first];
}

}  // namespace heed::train
