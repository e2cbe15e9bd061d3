// The network around the layers of every family: tables, the last norm and logits.
#include "models/network.hpp"

#include <cmath>

#include "base/logging.hpp"

namespace heed {

namespace models {

Tensor table(Graph& g, const std::string& name, int64_t rows, int64_t width, DType dtype) {
  const Tensor known = g.find_weight(name);
  return g.weight(name, {rows, width}, known.valid() ? g.dtype(known) : dtype);
}

bool sees_all(const DecoderConfig& config, int layer) {
  return layer < config.window_from || (config.full_every > 0 && (layer + 1) % config.full_every == 0);
}

nn::EncoderLayerOptions common_layer(const Layer& layer) {
  const DecoderConfig& config = layer.config;
  nn::EncoderLayerOptions options;
  options.attention.heads = config.heads;
  options.attention.kv_heads = config.kv_heads;
  options.attention.d_k = config.head_width;
  options.attention.causal = Causal::BottomRight;
  options.attention.cache = layer.options.cache;
  options.attention.weight_dtype = layer.options.weight_dtype;
  options.attention.weights = layer.attention;
  options.attention.window = sees_all(config, layer.index) ? 0 : config.window;
  if (config.score_width > 0) options.attention.scale = 1.0f / std::sqrt(static_cast<float>(config.score_width));
  options.feed_forward.hidden = config.hidden;
  options.feed_forward.weight_dtype = layer.options.weight_dtype;
  options.norm.placement = nn::NormPlacement::Pre;
  options.norm.eps = config.eps;
  return options;
}

namespace {

// An error message for the arguments, or "".
std::string mistake_of(const DecoderFamily* family, const DecoderConfig& config, const DecoderOptions& options) {
  if (family == nullptr)
    return "the family is '" + std::string(config.family) + "'; " + listed(decoder_families()) + " are known";
  if (config.width < 1 || config.vocabulary < 1) return "a width and a vocabulary of at least 1 are needed";
  if (config.window < 0 || config.window_from < 0 || config.full_every < 0)
    return "a window, or the layers that have it, is a negative number";
  if (!(config.window_base >= 0.0f) || config.score_width < 0)
    return "the rotary base of windows, or the width of scores, is a negative number";
  if (config.layers < 0 || config.layers > nn::kMaxLayers)
    return format("%d layers, at most %d are possible", config.layers, nn::kMaxLayers);
  if (options.last.valid() && options.all_logits) return "`last` is given beside all_logits";
  if (!family->names.positions.empty() && config.positions < 1) return "the number of positions is needed";
  return {};
}

void refuse(Graph& g, const DecoderOptions& options, const std::string& why) {
  const std::string prefix = options.prefix.empty() ? "" : std::string(options.prefix) + ": ";
  static_cast<void>(g.fail(Status::InvalidArgument, prefix + "decoder: " + why));
}

class DecoderBuilder {
 public:
  DecoderBuilder(Graph& g, const DecoderFamily& family, const DecoderConfig& config, const DecoderOptions& options)
      : g_(g), family_(family), config_(config), options_(options) {}

  DecoderResult build(Tensor ids) {
    const Tensor words = own_table(family_.names.tokens, config_.vocabulary);
    Tensor x = g_.embedding(words, ids, options_.dtype);
    if (g_.shape(x).rank != 3) {
      if (g_.status() == Status::Ok) refuse(g_, options_, "ids must be [B, S]");
      return {};
    }
    if (family_.scales_tokens) x = g_.scale(x, std::sqrt(static_cast<float>(config_.width)));
    if (!family_.names.positions.empty()) x = g_.add(x, g_.cast(position_rows(g_.shape(x)[1]), options_.dtype));
    DecoderResult result;
    for (int i = 0; i < config_.layers && g_.status() == Status::Ok; ++i) {
      Layer layer = {config_, options_, named(family_.names.layers) + "." + std::to_string(i), i};
      if (options_.attention) layer.attention = &result.attention.emplace_back();
      x = family_.add_layer(g_, x, layer);
    }
    const std::string norm = named(family_.names.norm);
    const bool is_rms = family_.final_norm == nn::NormKind::Rms;
    result.hidden = is_rms ? nn::rmsnorm(g_, x, norm, config_.eps) : nn::layernorm(g_, x, norm, config_.eps);
    g_.push_label("logits");
    Tensor seen = result.hidden;
    if (!options_.all_logits) seen = options_.last.valid() ? g_.take(seen, 1, options_.last) : g_.last(seen, 1);
    result.logits = g_.linear(seen, config_.tied ? words : own_table(family_.names.head, config_.vocabulary));
    g_.pop_label();
    return result;
  }

 private:
  std::string named(std::string_view name) const {
    return options_.prefix.empty() ? std::string(name) : std::string(options_.prefix).append(".").append(name);
  }

  Tensor own_table(std::string_view name, int64_t rows) {
    return table(g_, named(name), rows, config_.width, options_.weight_dtype.value_or(options_.dtype));
  }

  // Rows of the position table for tokens [B, S]: one for each position, or for each token if rows of the batch differ.
  Tensor position_rows(Dim tokens) {
    const nn::Cache& cache = options_.cache;
    const Tensor positions = own_table(family_.names.positions, config_.positions);
    if (cache.capacity == 0 || !cache.positions.valid())
      return g_.slice(positions, 0, cache.capacity > 0 ? cache.past : Dim(0), tokens);
    // Embedding would refuse position -1, which marks missing tokens.
    const Shape shape = g_.shape(positions);
    return shape.rank == 2 ? g_.take(g_.reshape(positions, {1, shape[0], shape[1]}), 1, cache.positions) : Tensor{};
  }

  Graph& g_;
  const DecoderFamily& family_;
  const DecoderConfig& config_;
  const DecoderOptions& options_;
};

}  // namespace

}  // namespace models

DecoderResult nn::decoder(Graph& g, Tensor ids, const DecoderConfig& config, const DecoderOptions& options) {
  const models::DecoderFamily* family = models::find_family(config.family);
  if (const std::string mistake = models::mistake_of(family, config, options); !mistake.empty()) {
    models::refuse(g, options, mistake);
    return {};
  }
  return models::DecoderBuilder(g, *family, config, options).build(ids);
}

}  // namespace heed
