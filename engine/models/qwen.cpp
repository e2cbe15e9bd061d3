// Qwen 2 (Yang et al. 2024, arXiv:2407.10671): Llama with biases of queries, keys and values.
// Qwen 3 (Yang et al. 2025, arXiv:2505.09388): Llama with an RMSNorm of each query and key head.
#include "models/llama.hpp"

namespace heed::models {

namespace {

void read_qwen_json(JsonConfig& from) {
  read_llama_json(from);
  // Where it is switched on, not all layers have a window.
  from.refuse("use_sliding_window", from.fields.boolean("use_sliding_window", false));
}

void read_qwen3_json(JsonConfig& from) {
  from.refuse("attention_bias", from.fields.boolean("attention_bias", false));
  read_qwen_json(from);
}

Tensor add_qwen2_layer(Graph& g, Tensor x, const Layer& layer) {
  nn::EncoderLayerOptions options = llama_layer(layer);
  options.attention.bias = true;
  return nn::encoder_layer(g, x, layer.name, options);
}

Tensor add_qwen3_layer(Graph& g, Tensor x, const Layer& layer) {
  nn::EncoderLayerOptions options = llama_layer(layer);
  options.attention.names->q_norm = "q_norm";
  options.attention.names->k_norm = "k_norm";
  options.attention.head_norm_eps = layer.config.eps;
  return nn::encoder_layer(g, x, layer.name, options);
}

}  // namespace

extern constinit const DecoderFamily qwen2 = like_llama("qwen2", read_qwen_json, read_llama_gguf, add_qwen2_layer);
extern constinit const DecoderFamily qwen3 = like_llama("qwen3", read_qwen3_json, read_llama_gguf, add_qwen3_layer);

}  // namespace heed::models
