// Golden systems with blocks, layers and stacks.
#include "golden/systems.hpp"

#include <array>

#include "golden/case.hpp"

namespace heed::goldens {

namespace {

using nn::AttentionNames;
using nn::MultiHeadOptions;

// --- 001: separate projections without bias, 0 = excluded by a fill of -1e9, post-norm ------------------------

constexpr AttentionNames kQs = {.q = "w_qs", .k = "w_ks", .v = "w_vs", .out = "fc"};

MultiHeadOptions filled(Case& c, Tensor mask) {
  return {.heads = c.number("n_head"),
          .d_k = c.number("d_k"),
          .d_v = c.number("d_v"),
          .names = kQs,
          .bias = false,
          .out_bias = false,
          .mask = keep(mask),
          .masked_fill = -1e9f};
}

// Inserts an axis of size 1 for the heads into a mask [B, 1 or S_q, S_kv].
Tensor head_mask(Case& c, std::string_view name, std::string_view axes) {
  const Tensor mask = c.optional_mask(name, axes);
  if (!mask.valid() || c.graph.shape(mask).rank != 3) return mask;
  const Shape shape = c.graph.shape(mask);
  return c.graph.reshape(mask, {shape[0], 1, shape[1], shape[2]});
}

nn::NormOptions post_norm(Case& c) { return {.placement = nn::NormPlacement::Post, .eps = c.real("eps")}; }

nn::FeedForwardOptions hidden_layers(int64_t hidden) { return {.hidden = hidden, .first = "w_1", .second = "w_2"}; }

constexpr nn::AttentionBlockNames kSelfBlock = {.attention = "slf_attn", .norm = "slf_attn.layer_norm"};
constexpr nn::AttentionBlockNames kCrossBlock = {.attention = "enc_attn", .norm = "enc_attn.layer_norm"};
constexpr nn::FeedForwardBlockNames kFeedForwardBlock = {.feed_forward = "pos_ffn", .norm = "pos_ffn.layer_norm"};

nn::EncoderLayerOptions filled_encoder(Case& c, Tensor mask) {
  return {.attention = filled(c, mask),
          .feed_forward = hidden_layers(c.number("d_inner")),
          .norm = post_norm(c),
          .attention_names = kSelfBlock,
          .feed_forward_names = kFeedForwardBlock};
}

nn::DecoderLayerOptions filled_decoder(Case& c, Tensor self_mask, Tensor cross_mask) {
  return {.self_attention = filled(c, self_mask),
          .cross_attention = filled(c, cross_mask),
          .feed_forward = hidden_layers(c.number("d_inner")),
          .norm = post_norm(c),
          .self_names = kSelfBlock,
          .cross_names = kCrossBlock,
          .feed_forward_names = kFeedForwardBlock};
}

// --- 004: torch.nn.MultiheadAttention inside, True = excluded ------------------------------------------------

constexpr AttentionNames kInProj = {.qkv = "in_proj", .out = "out_proj"};

MultiHeadOptions in_proj(Case& c, Tensor key_padding, Tensor mask) {
  return {.heads = c.number("num_heads"), .names = kInProj, .key_padding = exclude(key_padding), .mask = exclude(mask)};
}

constexpr nn::FeedForwardOptions kFeedForward = {.first = "linear_in", .second = "linear_out"};

// "a.b"; "b" if the layer has no name.
std::string below(const std::string& layer, const char* name) { return layer.empty() ? name : layer + "." + name; }

// Linear layers before an attention, two for each of query, key and value, or one: .q, .k and .v, then .qa, .ka and .va.
std::array<Tensor, 3> streams_of(Case& c, std::array<Tensor, 3> inputs, const std::string& layer) {
  constexpr const char* kNames[][2] = {{"q", "qa"}, {"k", "ka"}, {"v", "va"}};
  const int64_t width = c.number("d_model");
  for (size_t i = 0; i < inputs.size(); ++i)
    for (const char* name : kNames[i])
      if (c.has(below(layer, name) + ".weight")) inputs[i] = nn::linear(c.graph, inputs[i], below(layer, name), width);
  return inputs;
}

// Names of a layer's parts.
struct Block {
  const char *streams, *attention, *norm;
};

Tensor attention_block(Case& c, Tensor x, Tensor memory, const std::string& layer, const Block& names,
                       const MultiHeadOptions& options) {
  const auto [q, k, v] = streams_of(c, {x, memory, memory}, below(layer, names.streams));
  const Tensor y = nn::attention(c.graph, q, k, v, below(layer, names.attention), options);
  return nn::layernorm(c.graph, c.graph.add(x, y), below(layer, names.norm), c.real("eps"));
}

Tensor hidden_block(Case& c, Tensor x, const std::string& layer, const char* norm) {
  return nn::feed_forward_block(c.graph, x, layer, {.feed_forward = "ffn", .norm = norm}, kFeedForward, post_norm(c));
}

Tensor torch_encoder_layer(Case& c, Tensor x, const std::string& layer, const MultiHeadOptions& options) {
  return hidden_block(c, attention_block(c, x, x, layer, {"qkv", "mha", "norm1"}, options), layer, "norm2");
}

Tensor torch_decoder_layer(Case& c, Tensor x, Tensor memory, const std::string& layer, const MultiHeadOptions& own,
                           const MultiHeadOptions& crossed) {
  x = attention_block(c, x, x, layer, {"qkv1", "masked_mha", "norm1"}, own);
  x = attention_block(c, x, memory, layer, {"qkv2", "cross_mha", "norm2"}, crossed);
  return hidden_block(c, x, layer, "norm3");
}

std::vector<uint8_t> equal_to(const std::vector<int32_t>& ids, int64_t pad) {
  std::vector<uint8_t> mask(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) mask[i] = ids[i] == pad;
  return mask;
}

}  // namespace

void temperature_attention(Case& c) {
  const Tensor q = c.floats("q", "bhqd"), k = c.floats("k", "bhkd"), v = c.floats("v", "bhkd");
  const Tensor mask = c.optional_mask("mask", "bhqk");
  Tensor unused;
  const bool weights = c.weights(&unused) != nullptr;
  const AttentionResult r = c.graph.attention(
      q, k, v,
      {.scale = 1.0f / c.real("temperature"), .mask = keep(mask), .masked_fill = -1e9f, .return_weights = weights});
  c.expect("expected", r.output);
  c.expect("expected_attn", r.weights);
}

void post_norm_mha(Case& c) {
  const Tensor q = c.floats("q", "bqc"), k = c.floats("k", "bkc"), v = c.floats("v", "bkc");
  Tensor weights;
  MultiHeadOptions options = filled(c, head_mask(c, "mask", "bqk"));
  options.weights = c.weights(&weights);
  c.expect("expected",
           nn::attention_block(c.graph, q, k, v, "", {.attention = "", .norm = "layer_norm"}, options, post_norm(c)));
  c.expect("expected_attn", weights);
}

void post_norm_feed_forward(Case& c) {
  const Tensor x = c.floats("x", "bqc");
  c.expect("expected", nn::feed_forward_block(c.graph, x, "", {.norm = "layer_norm"}, hidden_layers(c.number("d_hid")),
                                              post_norm(c)));
}

void post_norm_encoder_layer(Case& c) {
  const Tensor x = c.floats("x", "bqc");
  Tensor weights;
  nn::EncoderLayerOptions options = filled_encoder(c, head_mask(c, "mask", "bqq"));
  options.attention.weights = c.weights(&weights);
  c.expect("expected", nn::encoder_layer(c.graph, x, "", options));
  c.expect("expected_attn", weights);
}

void post_norm_decoder_layer(Case& c) {
  const Tensor x = c.floats("x", "bqc"), y = c.floats("y", "bkc");
  Tensor own, crossed;
  nn::DecoderLayerOptions options =
      filled_decoder(c, head_mask(c, "self_mask", "bqq"), head_mask(c, "cross_mask", "bqk"));
  options.self_attention.weights = c.weights(&own);
  options.cross_attention.weights = c.weights(&crossed);
  c.expect("expected", nn::decoder_layer(c.graph, x, y, "", options));
  c.expect("expected_self_attn", own);
  c.expect("expected_cross_attn", crossed);
}

void post_norm_encoder_stack(Case& c) {
  const Tensor x = c.floats("x", "bqc");
  const nn::StackOptions stack = {.layers = static_cast<int>(c.count("n_layers"))};
  c.expect("expected", nn::encoder_stack(c.graph, x, "layers", filled_encoder(c, head_mask(c, "mask", "bqq")), stack));
}

void post_norm_decoder_stack(Case& c) {
  const Tensor x = c.floats("x", "bqc"), y = c.floats("y", "bkc");
  const nn::DecoderLayerOptions layer =
      filled_decoder(c, head_mask(c, "self_mask", "bqq"), head_mask(c, "cross_mask", "bqk"));
  const nn::StackOptions stack = {.layers = static_cast<int>(c.count("n_layers"))};
  c.expect("expected", nn::decoder_stack(c.graph, x, y, "layers", layer, stack));
}

void positional_encoding(Case& c) {
  c.expect("expected", c.graph.positional_encoding(c.tokens("x", 'q')));
  if (!c.has("expected_pe")) return;
  const int64_t length = c.number("max_len"), width = c.number("d_model");
  if (length * width > (1 << 24)) return static_cast<void>(c.problem("a table of more than 16777216 values"));
  const std::vector<float> zeros(static_cast<size_t>(length * width));
  c.expect("expected_pe", c.graph.positional_encoding(c.graph.constant("zeros", {length, width}, zeros)));
}

void streams(Case& c) {
  std::array<Tensor, 3> inputs;
  if (c.has("x"))
    inputs.fill(c.floats("x", "bqc"));
  else
    inputs = {c.floats("q", "bqc"), c.floats("k", "bkc"), c.floats("v", "bkc")};
  const auto [q, k, v] = streams_of(c, inputs, "");
  c.expect("expected_q", q);
  c.expect("expected_k", k);
  c.expect("expected_v", v);
}

void feed_forward(Case& c) { c.expect("expected", nn::feed_forward(c.graph, c.floats("x", "bqc"), "", kFeedForward)); }

void torch_mha(Case& c) {
  const Tensor q = c.floats("q", "bqc"), k = c.floats("k", "bkc"), v = c.floats("v", "bkc");
  const Tensor padding = c.optional_mask("key_padding_mask", "bk");
  Tensor weights;
  MultiHeadOptions options = in_proj(c, padding, c.optional_mask("attn_mask", "qk"));
  options.bias = c.has("in_proj.bias");
  options.out_bias = c.has("out_proj.bias");
  options.weights = c.weights(&weights);
  c.expect("expected", nn::attention(c.graph, q, k, v, "", options));
  // PyTorch returns the mean over heads.
  if (weights.valid() && c.has("expected_attn")) c.expect("expected_attn", c.graph.mean(weights, 1));
  c.dead_rows(weights);
}

void torch_encoder(Case& c) {
  const Tensor x = c.floats("x", "bqc");
  Tensor weights;
  MultiHeadOptions options = in_proj(c, c.optional_mask("pad_mask", "bq"), {});
  options.weights = c.weights(&weights);
  c.expect("expected", torch_encoder_layer(c, x, "", options));
  c.dead_rows(weights);
}

void torch_decoder(Case& c) {
  const Tensor y = c.floats("y", "bqc"), memory = c.floats("enc_out", "bkc");
  Tensor own_weights, crossed_weights;
  const Tensor causal = c.optional_mask("causal_mask", "qq"), pad = c.optional_mask("pad_mask", "bq");
  MultiHeadOptions own = in_proj(c, pad, causal), crossed = in_proj(c, c.optional_mask("enc_pad_mask", "bk"), {});
  own.weights = c.weights(&own_weights);
  crossed.weights = c.weights(&crossed_weights);
  c.expect("expected", torch_decoder_layer(c, y, memory, "", own, crossed));
  c.dead_rows(own_weights);
  c.dead_rows(crossed_weights);
}

void torch_transformer(Case& c) {
  Graph& g = c.graph;
  const Tensor x = c.floats("x", "bkc"), y = c.floats("y", "bqc");
  const int64_t pad = c.number("pad_token_id");
  const Tensor x_pad = c.computed("x_pad", "bk", equal_to(c.integer_values("x_ids"), pad));
  const Tensor y_pad = c.computed("y_pad", "bq", equal_to(c.integer_values("y_ids"), pad));
  const int64_t layers = c.count("n_layers");
  MultiHeadOptions own = in_proj(c, y_pad, {});
  own.causal = Causal::TopLeft;
  const MultiHeadOptions crossed = in_proj(c, x_pad, {});

  Tensor encoded = g.positional_encoding(x);
  for (int64_t i = 0; i < layers; ++i)
    encoded = torch_encoder_layer(c, encoded, "encoders." + std::to_string(i), crossed);
  const Tensor embedded = g.positional_encoding(y);
  const auto decode = [&](Tensor target, int64_t i) {
    return torch_decoder_layer(c, target, encoded, "decoders." + std::to_string(i), own, crossed);
  };
  Tensor decoded = embedded;
  for (int64_t i = 0; i < layers; ++i) decoded = decode(decoded, i);
  const Tensor logits = nn::linear(g, decoded, "out", c.number("vocab"));
  c.expect("expected_enc_out", encoded);
  c.expect("expected_dec_out", decoded);
  c.expect("expected_logits", logits);
  c.expect("expected", g.softmax(logits));

  // If every decoder layer reads the embedded target instead of the previous layer, only the last one matters.
  if (c.has("expected_seed_wiring") && layers > 0) c.expect("expected_seed_wiring", decode(embedded, layers - 1));
}

}  // namespace heed::goldens
