// Sublayers with their residual connection and layer norm.
#include "nn/parts.hpp"

namespace heed::nn {

namespace {

// `sublayer` maps x, or its norm, to the residual branch.
template <class Sublayer>
Tensor with_residual(Graph& g, Tensor x, std::string_view norm_name, const NormOptions& norm, Sublayer&& sublayer) {
  if (norm.placement == NormPlacement::Pre) return g.add(x, sublayer(apply_norm(g, x, norm_name, norm)));
  return apply_norm(g, g.add(x, sublayer(x)), norm_name, norm);
}

}  // namespace

Tensor attention_block(Graph& g, Tensor query, Tensor key, Tensor value, std::string_view prefix,
                       const AttentionBlockNames& names, const MultiHeadOptions& options, const NormOptions& norm) {
  return with_residual(g, query, join(prefix, names.norm), norm, [&](Tensor x) {
    return attention(g, x, key == query ? x : key, value == query ? x : value, join(prefix, names.attention), options);
  });
}

Tensor feed_forward(Graph& g, Tensor x, std::string_view prefix, const FeedForwardOptions& options) {
  const Label label(g, prefix);
  const int64_t width = width_of(g, x, prefix);
  if (width == 0) return {};
  const int64_t hidden = options.hidden ? options.hidden : 4 * width;
  const auto layer = [&](Tensor input, std::string_view name, int64_t out) {
    const Label layer_label(g, name);
    return apply_linear(g, input, join(prefix, name), out, options.bias, options.weight_dtype, options.transposed);
  };
  const bool gated = !options.gate.empty();
  Tensor h = g.activation(layer(x, gated ? options.gate : options.first, hidden), options.activation);
  if (gated) h = g.mul(h, layer(x, options.first, hidden));
  h = drop(g, h, options.hidden_dropout);
  const Tensor y = layer(h, options.second, width);
  return drop(g, y, options.output_dropout);
}

Tensor feed_forward_block(Graph& g, Tensor x, std::string_view prefix, const FeedForwardBlockNames& names,
                          const FeedForwardOptions& options, const NormOptions& norm) {
  return with_residual(g, x, join(prefix, names.norm), norm,
                       [&](Tensor input) { return feed_forward(g, input, join(prefix, names.feed_forward), options); });
}

}  // namespace heed::nn
