// Every golden system written with heed: one table, with one function per system.
#include <algorithm>
#include <cmath>

#include "golden/case.hpp"
#include "golden/systems.hpp"

namespace heed::goldens {

namespace {

using nn::AttentionNames;
using nn::MultiHeadOptions;

// --- 000: fused projections, masks with True = excluded -------------------------------------------------------

void single_head(Case& c) {
  const Tensor x = c.floats("x", "bqc");
  c.expect("expected",
           nn::self_attention(
               c.graph, x, "",
               {.heads = 1, .d_k = c.number("head_size"), .bias = c.has("wqkv.bias"), .out_bias = c.has("wo.bias")}));
}

void fused(Case& c, bool cross, Causal causal) {
  const Tensor x = c.floats("x", "bqc");
  const Tensor context = cross ? c.floats("y", "bkc") : x;
  const Tensor mask = c.optional_mask("mask", cross ? "bk" : "bq");
  Tensor weights;
  const MultiHeadOptions options = {.heads = c.number("num_heads"),
                                    .bias = c.has(cross ? "wq.bias" : "wqkv.bias"),
                                    .out_bias = c.has("wo.bias"),
                                    .causal = causal,
                                    .key_padding = exclude(mask),
                                    .weights = c.weights(&weights)};
  c.expect("expected",
           cross ? nn::cross_attention(c.graph, x, context, "", options) : nn::self_attention(c.graph, x, "", options));
  c.dead_rows(weights);
}

void bidirectional(Case& c) { fused(c, false, Causal::None); }
void causal(Case& c) { fused(c, false, Causal::TopLeft); }
void cross(Case& c) { fused(c, true, Causal::None); }
void causal_cross(Case& c) { fused(c, true, Causal::TopLeft); }

void dropout(Case& c) {
  const Tensor x = c.floats("x", "bqc");
  c.expect("expected", nn::self_attention(c.graph, x, "",
                                          {.heads = c.number("num_heads"),
                                           .bias = c.has("wqkv.bias"),
                                           .out_bias = c.has("wo.bias"),
                                           .attention_dropout = c.real("attn_drop"),
                                           .output_dropout = c.real("out_drop")}));
}

// --- 002: unbatched, weights [in, out] ------------------------------------------------------------------------

constexpr AttentionNames kInOut = {.q = "w_query", .k = "w_key", .v = "w_value", .in_out = true};

MultiHeadOptions in_out_head(Case& c, Causal causal) {
  return {.d_k = c.number("d_out_kq"), .d_v = c.number("d_out_v"), .names = kInOut, .causal = causal};
}

void in_out_self(Case& c) {
  const Tensor x = c.tokens("x", 'q');
  c.expect("expected", nn::attention(c.graph, x, x, x, "", in_out_head(c, Causal::None)));
}

void in_out_cross(Case& c) {
  const Tensor x = c.tokens("x", 'q'), y = c.tokens("y", 'k');
  c.expect("expected", nn::attention(c.graph, x, y, y, "", in_out_head(c, Causal::None)));
}

// The unscaled scores x Wq (x Wk)^T, with weights [in, out]: x [S, in] -> [S, S].
Tensor raw_scores(Case& c, Tensor x, int64_t d_k) {
  Graph& g = c.graph;
  const Shape shape = g.shape(x);
  const int64_t in = shape.rank > 0 ? shape[shape.rank - 1].value : 0;
  const Tensor q = g.matmul(x, g.weight("w_query", {in, d_k}));
  const Tensor k = g.matmul(x, g.weight("w_key", {in, d_k}));
  return g.matmul(q, k, {.transpose_b = true});
}

std::vector<float> lower_triangle(int64_t n) {
  std::vector<float> values(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) values[static_cast<size_t>(i * n + j)] = 1.0f;
  return values;
}

void in_out_causal(Case& c) {
  const Tensor x = c.tokens("x", 'q');
  Tensor weights;
  MultiHeadOptions options = in_out_head(c, Causal::TopLeft);
  options.weights = c.weights(&weights);
  c.expect("expected", nn::attention(c.graph, x, x, x, "", options));
  if (!c.with_weights() || !weights.valid()) return;

  const Tensor scores = raw_scores(c, x, options.d_k);
  const float scale = 1.0f / std::sqrt(static_cast<float>(options.d_k));
  const Tensor full = c.graph.softmax(scores, {.scale = scale});
  const Tensor triangle = c.computed("triangle", "qq", lower_triangle(c.size('q')));
  c.expect("expected_scores", scores);
  c.expect("expected_attn_full", full);
  c.expect("expected_attn_masked", c.graph.mul(full, triangle));
  c.expect("expected_attn", c.graph.select(weights, c.graph.shape(weights).rank - 3, 0));
}

void side_by_side(Case& c) {
  const Tensor x = c.tokens("x", 'q');
  std::vector<Tensor> heads;
  for (int64_t i = 0; i < c.count("num_heads"); ++i)
    heads.push_back(nn::attention(c.graph, x, x, x, "heads." + std::to_string(i), in_out_head(c, Causal::None)));
  c.expect("expected", c.graph.concat(heads, -1));
}

void embedding(Case& c) {
  const Tensor ids = c.integers("ids", c.rank("ids") == 1 ? "q" : "bq");
  const Tensor table = c.graph.weight("embed.weight", {c.number("vocab"), c.number("dim")});
  c.expect("expected", c.graph.embedding(table, ids));
}

// --- 003: separate linear projections -------------------------------------------------------------------------

void simplified(Case& c) {
  const Tensor x = c.tokens("x", 'q');
  Tensor unused;
  const bool weights = c.weights(&unused) != nullptr;
  const AttentionResult r = nn::single_head(c.graph, x, x, x, {.scale = 1.0f, .return_weights = weights});
  c.expect("expected", r.output);
  c.expect("expected_attn", r.weights);
  c.expect("expected_scores", c.graph.matmul(x, x, {.transpose_b = true}));
}

MultiHeadOptions separate(Case& c, int64_t heads, Causal causal) {
  return {.heads = heads,
          .d_k = c.number("d_out") / std::max<int64_t>(heads, 1),
          .names = AttentionNames{.q = "w_query", .k = "w_key", .v = "w_value"},
          .bias = c.has("w_query.bias"),
          .causal = causal};
}

void separate_head(Case& c, Causal causal) {
  const Tensor x = c.tokens("x", 'q');
  Tensor weights;
  MultiHeadOptions options = separate(c, 1, causal);
  options.weights = c.weights(&weights);
  c.expect("expected", nn::attention(c.graph, x, x, x, "", options));
  if (weights.valid()) c.expect("expected_attn", c.graph.select(weights, c.graph.shape(weights).rank - 3, 0));
}

void separate_self(Case& c) { separate_head(c, Causal::None); }
void separate_causal(Case& c) { separate_head(c, Causal::TopLeft); }

void separate_mha(Case& c) {
  const Tensor x = c.tokens("x", 'q');
  MultiHeadOptions options = separate(c, c.number("num_heads"), Causal::TopLeft);
  options.names->out = "out_proj";
  options.out_width = c.number("d_out");
  options.out_bias = c.has("out_proj.bias");
  c.expect("expected", nn::attention(c.graph, x, x, x, "", options));
}

struct System {
  std::string_view name;
  void (*build)(Case& c);
};

constexpr System kSystems[] = {
    {"000.single_head", single_head},
    {"000.mha", bidirectional},
    {"000.mha_dropout", dropout},
    {"000.bidirectional", bidirectional},
    {"000.causal", causal},
    {"000.cross", cross},
    {"000.causal_cross", causal_cross},
    {"001.sdpa", temperature_attention},
    {"001.mha", post_norm_mha},
    {"001.ffn", post_norm_feed_forward},
    {"001.encoder_layer", post_norm_encoder_layer},
    {"001.decoder_layer", post_norm_decoder_layer},
    {"001.encoder_stack", post_norm_encoder_stack},
    {"001.decoder_stack", post_norm_decoder_stack},
    {"002.embedding", embedding},
    {"002.self_attention", in_out_self},
    {"002.causal", in_out_causal},
    {"002.cross_attention", in_out_cross},
    {"002.mha_wrapper", side_by_side},
    {"003.simplified", simplified},
    {"003.self_attention", separate_self},
    {"003.causal", separate_causal},
    {"003.mha", separate_mha},
    {"004.positional_encoding", positional_encoding},
    {"004.qkv", streams},
    {"004.ffn", feed_forward},
    {"004.torch_mha", torch_mha},
    {"004.encoder", torch_encoder},
    {"004.decoder", torch_decoder},
    {"004.transformer", torch_transformer},
};

const System* find(std::string_view name) {
  for (const System& system : kSystems)
    if (system.name == name) return &system;
  return nullptr;
}

}  // namespace

bool known_system(std::string_view system) { return find(system) != nullptr; }

void build(Case& c) {
  const std::string_view name = c.file().metadata("system");
  if (const System* system = find(name)) {
    system->build(c);
  } else {
    c.problem(name.empty() ? "no system is named in its metadata" : "unknown system '" + std::string(name) + "'");
  }
}

}  // namespace heed::goldens
