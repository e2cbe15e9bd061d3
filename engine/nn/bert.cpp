// BERT's encoder: embeddings, a stack of post-norm layers, pooling. Names are those of Hugging Face checkpoints.
#include <heed/bert.hpp>

#include "nn/parts.hpp"

namespace heed {

namespace {

// The tensors of one layer below "encoder.layer.N.", as the checkpoint spells them.
void layer_tensors(const BertConfig& c, const std::string& prefix, std::vector<TensorShape>* all) {
  const auto linear = [&](const char* name, int64_t out, int64_t in) {
    all->push_back({prefix + name + ".weight", {out, in}});
    all->push_back({prefix + name + ".bias", {out}});
  };
  const auto norm = [&](const char* name) {
    all->push_back({prefix + name + ".weight", {c.width}});
    all->push_back({prefix + name + ".bias", {c.width}});
  };
  for (const char* name : {"attention.self.query", "attention.self.key", "attention.self.value"})
    linear(name, c.width, c.width);
  linear("attention.output.dense", c.width, c.width);
  norm("attention.output.LayerNorm");
  linear("intermediate.dense", c.hidden, c.width);
  linear("output.dense", c.width, c.hidden);
  norm("output.LayerNorm");
}

}  // namespace

std::vector<TensorShape> bert_tensors(const BertConfig& c) {
  std::vector<TensorShape> all = {{"embeddings.word_embeddings.weight", {c.vocabulary, c.width}},
                                  {"embeddings.position_embeddings.weight", {c.positions, c.width}},
                                  {"embeddings.token_type_embeddings.weight", {c.types, c.width}},
                                  {"embeddings.LayerNorm.weight", {c.width}},
                                  {"embeddings.LayerNorm.bias", {c.width}}};
  for (int64_t i = 0; i < c.layers; ++i) layer_tensors(c, "encoder.layer." + std::to_string(i) + ".", &all);
  return all;
}

std::vector<TensorShape> bert_pooler_tensors(const BertConfig& c) {
  return {{"pooler.dense.weight", {c.width, c.width}}, {"pooler.dense.bias", {c.width}}};
}

namespace nn {

namespace {

// Words + types + positions, normalized: ids [B, S] -> [B, S, C].
Tensor embeddings(Graph& g, Tensor ids, const BertConfig& c, const BertOptions& options) {
  const Label label(g, "embeddings");
  const Shape shape = g.shape(ids);
  if (shape.rank != 2) return mistake(g, Status::ShapeMismatch, "bert", "ids of rank %d, [B, S] is needed", shape.rank);
  if (shape[1].value > c.positions)
    return mistake(g, Status::ShapeMismatch, "bert", "up to %lld tokens, the model has %lld positions",
                   static_cast<long long>(shape[1].value), static_cast<long long>(c.positions));
  const auto table = [&](const char* name, int64_t rows) {
    return declared_weight(g, std::string("embeddings.") + name + "_embeddings.weight", {rows, c.width},
                           options.weight_dtype.value_or(options.dtype));
  };
  Tensor position = g.cast(g.slice(table("position", c.positions), 0, 0, shape[1]), options.dtype);  // [S, C]
  const Tensor types = table("token_type", c.types);
  Tensor x = g.embedding(table("word", c.vocabulary), ids, options.dtype);
  // Without types, all tokens have type 0. Adding its row to the positions takes a sum over [S, C] instead of [B, S, C].
  if (options.types.valid())
    x = g.add(x, g.embedding(types, options.types, options.dtype));
  else
    position = g.add(position, g.cast(g.select(types, 0, 0), options.dtype));
  return layernorm(g, g.add(x, position), "embeddings.LayerNorm", c.eps);
}

EncoderLayerOptions layer_options(const BertConfig& c, const BertOptions& options, Mask padding) {
  EncoderLayerOptions layer;
  layer.attention.heads = c.heads;
  layer.attention.weight_dtype = options.weight_dtype;
  layer.feed_forward.weight_dtype = options.weight_dtype;
  layer.attention.key_padding = padding;
  layer.attention.names = AttentionNames{.out = "output.dense"};
  if (options.joined_qkv) {
    layer.attention.names->qkv = "self.qkv";
  } else {
    layer.attention.names->q = "self.query";
    layer.attention.names->k = "self.key";
    layer.attention.names->v = "self.value";
  }
  layer.attention_names = {.attention = "attention", .norm = "attention.output.LayerNorm"};
  layer.feed_forward.hidden = c.hidden;
  layer.feed_forward.activation = c.activation;
  layer.feed_forward.first = "intermediate.dense";
  layer.feed_forward.second = "output.dense";
  layer.feed_forward_names = {.norm = "output.LayerNorm"};
  layer.norm = {.placement = NormPlacement::Post, .eps = c.eps};
  return layer;
}

}  // namespace

BertResult bert(Graph& g, Tensor ids, Mask padding, const BertConfig& config, const BertOptions& options) {
  BertResult result;
  if (!may_repeat(g, "bert", config.layers, "layers")) return result;
  Tensor x = embeddings(g, ids, config, options);
  EncoderLayerOptions layer = layer_options(config, options, padding);
  for (int64_t i = 0; i < config.layers && g.status() == Status::Ok; ++i) {
    Tensor weights;
    layer.attention.weights = options.attention ? &weights : nullptr;
    x = encoder_layer(g, x, join("encoder.layer", i), layer);
    if (options.attention) result.attention.push_back(weights);
  }
  result.tokens = x;
  if (options.pooler) {
    const Tensor first = g.select(x, 1, 0);
    const Tensor dense = linear(g, first, "pooler.dense", config.width, true, options.weight_dtype);
    result.pooled = g.activation(dense, Activation::Tanh);
  }
  return result;
}

Tensor mean_sentence(Graph& g, Tensor tokens, Mask padding) {
  const Label label(g, "sentence");
  return g.l2_normalize(g.mean(tokens, 1, padding));
}

}  // namespace nn
}  // namespace heed
