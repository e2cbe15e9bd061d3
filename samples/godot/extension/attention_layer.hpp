// The graph of an attention layer from HeedAttention's properties, and its weights.
#pragma once

#include <heed/heed.hpp>

#include <cstdint>
#include <string>
#include <vector>

struct AttentionShape {
  int64_t width = 64;         // of a row of x
  int64_t context_width = 0;  // of a row of context; 0: self-attention
  int64_t heads = 4;
  int64_t key_width = 0;       // of one head; 0: width / heads
  int64_t value_width = 0;     // of one head; 0: key_width
  int64_t max_queries = 1024;  // rows of x
  int64_t max_keys = 1024;     // rows of context
  int64_t encoder_layers = 0;  // 0: only the attention; else so many of PyTorch's TransformerEncoderLayer
  int64_t hidden = 0;          // of their feed-forward; 0: 4 width
  bool fused = true;           // in_proj_weight and in_proj_bias, as in PyTorch; else q, k and v
  bool out_projection = true;
  bool bias = true;
  bool causal = false;
  bool gives_weights = false;  // as another output [heads, queries, keys]
  double scale = 0;            // 0: 1 / sqrt(key_width)

  bool is_cross() const { return context_width > 0; }
};

// Inputs "x" [queries, width] and, for cross attention, "context" [keys, context_width]; outputs "y" [queries, ...] and "weights".
heed::Graph attention_graph(const AttentionShape& shape, const std::string& prefix);

// Weights by name, with values for all weights of the graph.
struct AttentionWeight {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;  // empty until they are set
  int64_t elements() const;
};
// All weights of the layer's graph, without values.
std::vector<AttentionWeight> weights_of(const AttentionShape& shape, const std::string& prefix);
// The same values on every machine: scales of norms are 1, their biases 0, all others uniform in +-1 / sqrt(columns), like PyTorch's
// initial linear layers, by a hash of seed, name and index.
void draw(uint64_t seed, AttentionWeight* weight);
