// Llama, Qwen 2, Qwen 3 and GPT-2 differ in names and in options of layers that all of heed::nn has.
#include <heed/decoder.hpp>

#include "nn/parts.hpp"

namespace heed::nn {
namespace {

// The names that checkpoints give to the parts around the layers. `positions` is empty where rotation tells positions.
struct Names {
  std::string_view tokens, positions, layers, norm, head;
};
constexpr Names kLlamaNames = {"model.embed_tokens.weight", {}, "model.layers", "model.norm", "lm_head.weight"};
constexpr Names kGpt2Names = {"wte.weight", "wpe.weight", "h", "ln_f", "lm_head.weight"};

EncoderLayerOptions llama_layer(const DecoderConfig& config) {
  EncoderLayerOptions layer;
  const bool has_head_norms = config.family == DecoderFamily::Qwen3;
  layer.attention.names = AttentionNames{.q = "q_proj", .k = "k_proj", .v = "v_proj", .out = "o_proj"};
  if (has_head_norms) layer.attention.names->q_norm = "q_norm", layer.attention.names->k_norm = "k_norm";
  layer.attention.bias = config.family == DecoderFamily::Qwen2;
  layer.attention.out_bias = false;
  layer.attention.head_norm_eps = config.eps;
  layer.attention.rotary = config.rotary;
  layer.feed_forward = {
      .activation = Activation::Silu, .first = "up_proj", .second = "down_proj", .gate = "gate_proj", .bias = false};
  layer.norm.kind = NormKind::Rms;
  layer.attention_names = {.attention = "self_attn", .norm = "input_layernorm"};
  layer.feed_forward_names = {.feed_forward = "mlp", .norm = "post_attention_layernorm"};
  return layer;
}

EncoderLayerOptions gpt2_layer(const DecoderConfig& config) {
  EncoderLayerOptions layer;
  layer.attention.names = AttentionNames{.qkv = "c_attn", .out = "c_proj", .transposed = config.in_out};
  layer.feed_forward = {
      .activation = Activation::GeluTanh, .first = "c_fc", .second = "c_proj", .transposed = config.in_out};
  layer.attention_names = {.attention = "attn", .norm = "ln_1"};
  layer.feed_forward_names = {.feed_forward = "mlp", .norm = "ln_2"};
  return layer;
}

EncoderLayerOptions layer_of(const DecoderConfig& config, const DecoderOptions& options) {
  EncoderLayerOptions layer = config.family == DecoderFamily::Gpt2 ? gpt2_layer(config) : llama_layer(config);
  layer.attention.heads = config.heads;
  layer.attention.kv_heads = config.kv_heads;
  layer.attention.d_k = config.head_width;
  layer.attention.causal = Causal::BottomRight;
  layer.attention.cache = options.cache;
  layer.attention.weight_dtype = options.weight_dtype;
  layer.feed_forward.hidden = config.hidden;
  layer.feed_forward.weight_dtype = options.weight_dtype;
  layer.norm.placement = NormPlacement::Pre;
  layer.norm.eps = config.eps;
  return layer;
}

// Layer `i` of a network whose layers are otherwise like this one.
EncoderLayerOptions with_window(EncoderLayerOptions layer, const DecoderConfig& config, int i) {
  const bool sees_all = i < config.window_from || (config.full_every > 0 && (i + 1) % config.full_every == 0);
  layer.attention.window = sees_all ? 0 : config.window;
  return layer;
}

// The rows of GPT-2's table for tokens [B, S]: one for each position, or for each token of rows that differ.
Tensor position_rows(Graph& g, Tensor table, Dim tokens, const DecoderOptions& options) {
  const Cache& cache = options.cache;
  if (cache.capacity == 0 || !cache.positions.valid())
    return g.slice(table, 0, cache.capacity > 0 ? cache.past : Dim(0), tokens);
  // Embedding would refuse the -1 of a token that is none.
  const Shape shape = g.shape(table);
  return shape.rank == 2 ? g.take(g.reshape(table, {1, shape[0], shape[1]}), 1, cache.positions) : Tensor{};
}

}  // namespace

DecoderResult decoder(Graph& g, Tensor ids, const DecoderConfig& config, const DecoderOptions& options) {
  const bool is_gpt2 = config.family == DecoderFamily::Gpt2;
  const Names& names = is_gpt2 ? kGpt2Names : kLlamaNames;
  const auto refuse = [&](const char* what) {
    mistake(g, Status::InvalidArgument, options.prefix, "decoder: %s", what);
    return DecoderResult{};
  };
  if (config.family > DecoderFamily::Gpt2) return refuse("the family is none of those there are");
  if (config.width < 1 || config.vocabulary < 1) return refuse("a width and a vocabulary of at least 1 are needed");
  if (config.window < 0 || config.window_from < 0 || config.full_every < 0)
    return refuse("a window, or the layers that have it, is a negative number");
  if (options.last.valid() && options.all_logits) return refuse("`last` is given beside all_logits");
  if (is_gpt2 && config.positions < 1) return refuse("GPT-2 needs the number of its positions");

  const auto table = [&](std::string_view name, int64_t rows) {
    return declared_weight(g, join(options.prefix, name), {rows, config.width},
                           options.weight_dtype.value_or(options.dtype));
  };
  const Tensor words = table(names.tokens, config.vocabulary);
  Tensor x = g.embedding(words, ids, options.dtype);
  if (g.shape(x).rank != 3) {
    if (g.status() != Status::Ok) return {};
    return refuse("ids must be [B, S]");
  }
  if (is_gpt2) {
    const Tensor rows = position_rows(g, table(names.positions, config.positions), g.shape(x)[1], options);
    x = g.add(x, g.cast(rows, options.dtype));
  }

  const std::string final_norm = join(options.prefix, names.norm);
  DecoderResult result;
  const EncoderLayerOptions layer = layer_of(config, options);
  const std::string layers = join(options.prefix, names.layers);
  if (!may_repeat(g, layers, config.layers, "layers")) return {};
  for (int i = 0; i < config.layers && g.status() == Status::Ok; ++i) {
    EncoderLayerOptions one = with_window(layer, config, i);
    if (options.attention) one.attention.weights = &result.attention.emplace_back();
    x = encoder_layer(g, x, join(layers, int64_t{i}), one);
  }
  result.hidden = apply_norm(g, x, final_norm, layer.norm);
  const Label label(g, "logits");
  Tensor seen = result.hidden;
  if (!options.all_logits) seen = options.last.valid() ? g.take(seen, 1, options.last) : g.last(seen, 1);
  result.logits = g.linear(seen, config.tied ? words : table(names.head, config.vocabulary));
  return result;
}

}  // namespace heed::nn
