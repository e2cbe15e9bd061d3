// Keys, names and the layer of Llama, for families that resemble it and change parts of them.
#pragma once

#include "models/config.hpp"
#include "models/network.hpp"

namespace heed::models {

inline constexpr DecoderNames kLlamaNames = {
    .tokens = "model.embed_tokens.weight", .layers = "model.layers", .norm = "model.norm", .head = "lm_head.weight"};

inline constexpr GgufName kLlamaGgufNames[] = {{"model.embed_tokens", "token_embd"},
                                               {"input_layernorm", "attn_norm"},
                                               {"self_attn.q_proj", "attn_q"},
                                               {"self_attn.k_proj", "attn_k"},
                                               {"self_attn.v_proj", "attn_v"},
                                               {"self_attn.q_norm", "attn_q_norm"},
                                               {"self_attn.k_norm", "attn_k_norm"},
                                               {"self_attn.o_proj", "attn_output"},
                                               {"post_attention_layernorm", "ffn_norm"},
                                               {"mlp.gate_proj", "ffn_gate"},
                                               {"mlp.up_proj", "ffn_up"},
                                               {"mlp.down_proj", "ffn_down"},
                                               {"model.norm", "output_norm"},
                                               {"lm_head", "output"}};

// Reads sizes, norms, tied weights and rotary settings. Biases of attention and windows are left to the family.
void read_llama_json(JsonConfig& from, std::string_view activation = "silu");
void read_llama_gguf(GgufConfig& from);

// RMSNorm, rotary embedding, grouped queries, SwiGLU, no biases.
nn::EncoderLayerOptions llama_layer(const Layer& layer);

constexpr DecoderFamily like_llama(std::string_view name, decltype(DecoderFamily::read_json) read_json,
                                   decltype(DecoderFamily::read_gguf) read_gguf,
                                   decltype(DecoderFamily::add_layer) add_layer) {
  DecoderFamily family = {.name = name, .names = kLlamaNames, .gguf_names = kLlamaGgufNames};
  family.read_json = read_json;
  family.read_gguf = read_gguf;
  family.add_layer = add_layer;
  return family;
}

}  // namespace heed::models
