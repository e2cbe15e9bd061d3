#include "attention_layer.hpp"

#include <cmath>
#include <string_view>

namespace {

// Sebastiano Vigna's splitmix64.
uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

heed::nn::MultiHeadOptions options_of(const AttentionShape& shape) {
  heed::nn::AttentionNames names = {.q = "q", .k = "k", .v = "v"};
  if (shape.fused) names = {.qkv = "in_proj_"};
  if (shape.out_projection) names.out = "out_proj";
  heed::nn::MultiHeadOptions options = {.heads = shape.heads,
                                        .d_k = shape.key_width,
                                        .d_v = shape.value_width,
                                        .names = names,
                                        .bias = shape.bias,
                                        .out_bias = shape.bias,
                                        .causal = shape.causal ? heed::Causal::TopLeft : heed::Causal::None};
  if (shape.scale > 0) options.scale = static_cast<float>(shape.scale);
  return options;
}

std::string joined(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : prefix + "." + std::string(name);
}

}  // namespace

int64_t AttentionWeight::elements() const {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

heed::Graph attention_graph(const AttentionShape& shape, const std::string& prefix) {
  heed::Graph g;
  const heed::Tensor x = g.input("x", {1, g.extent("queries", shape.max_queries), shape.width});
  heed::Tensor context = x;
  if (shape.is_cross()) context = g.input("context", {1, g.extent("keys", shape.max_keys), shape.context_width});
  heed::nn::MultiHeadOptions options = options_of(shape);
  heed::Tensor weights;
  if (shape.gives_weights) options.weights = &weights;
  if (shape.encoder_layers > 0)
    g.output("y",
             heed::nn::encoder_stack(g, x, prefix, {.attention = options, .feed_forward = {.hidden = shape.hidden}},
                                     {.layers = static_cast<int>(shape.encoder_layers)}));
  else
    g.output("y", heed::nn::attention(g, x, context, context, prefix, options));
  if (shape.gives_weights) g.output("weights", weights);
  return g;
}

std::vector<AttentionWeight> weights_of(const AttentionShape& shape, const std::string& prefix) {
  std::vector<std::string> candidates;
  const auto add = [&](const std::string& layer, const std::string& attention) {
    for (const char* name : {"in_proj_weight", "in_proj_bias", "q.weight", "q.bias", "k.weight", "k.bias", "v.weight",
                             "v.bias", "out_proj.weight", "out_proj.bias"})
      candidates.push_back(joined(attention, name));
    for (const char* name : {"linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias", "norm1.weight",
                             "norm1.bias", "norm2.weight", "norm2.bias"})
      candidates.push_back(joined(layer, name));
  };
  if (shape.encoder_layers == 0) add(prefix, prefix);
  for (int64_t i = 0; i < shape.encoder_layers; ++i) {
    const std::string layer = joined(prefix, std::to_string(i));
    add(layer, layer + ".self_attn");
  }
  const heed::Graph graph = attention_graph(shape, prefix);
  std::vector<AttentionWeight> all;
  for (const std::string& name : candidates) {
    const heed::Tensor tensor = graph.find_weight(name);
    if (!tensor.valid()) continue;
    AttentionWeight& weight = all.emplace_back();
    weight.name = name;
    const heed::Shape of_weight = graph.shape(tensor);
    for (int i = 0; i < of_weight.rank; ++i) weight.shape.push_back(of_weight[i].value);
  }
  return all;
}

void draw(uint64_t seed, AttentionWeight* weight) {
  const bool is_norm = weight->name.find("norm") != std::string::npos;
  const bool is_bias = weight->name.ends_with("bias");
  weight->values.assign(static_cast<size_t>(weight->elements()), is_norm && !is_bias ? 1.0f : 0.0f);
  if (is_norm || is_bias) return;
  uint64_t key = mix(seed);
  for (const char c : weight->name) key = mix(key ^ static_cast<unsigned char>(c));
  const double bound = 1 / std::sqrt(static_cast<double>(weight->shape.back()));
  for (size_t i = 0; i < weight->values.size(); ++i) {
    const double unit = static_cast<double>(mix(key + i) >> 11) * 0x1p-53;
    weight->values[i] = static_cast<float>((2 * unit - 1) * bound);
  }
}
