// Llama, and Mistral, which is the same network (Touvron et al. 2023, arXiv:2302.13971; Jiang et al. 2023, arXiv:2310.06825):
// RMSNorm, rotary embedding, grouped queries, SwiGLU, no biases.
#include "models/llama.hpp"

namespace heed::models {

namespace {

constexpr std::string_view kLlamaTypes[] = {"mistral"};

void read_mistral_json(JsonConfig& from) {
  from.refuse("attention_bias", from.fields.boolean("attention_bias", false));
  read_llama_json(from);
  from.config.window = from.fields.integer("sliding_window", 0, INT32_MAX, 0);  // Mistral has one if it is not null
}

// Files have the rows of queries and keys ordered for pairs of neighbours.
void read_neighbours_gguf(GgufConfig& from) {
  from.config.rotary.pairs = RotaryPairs::Adjacent;
  read_llama_gguf(from);
}

Tensor add_llama_layer(Graph& g, Tensor x, const Layer& layer) {
  return nn::encoder_layer(g, x, layer.name, llama_layer(layer));
}

}  // namespace

extern constinit const DecoderFamily llama = [] {
  DecoderFamily family = like_llama("llama", read_mistral_json, read_neighbours_gguf, add_llama_layer);
  family.other_types = kLlamaTypes;
  return family;
}();

void read_llama_json(JsonConfig& from) {
  Fields& fields = from.fields;
  DecoderConfig& config = from.config;
  config.layers = static_cast<int>(fields.integer("num_hidden_layers", 1, nn::kMaxLayers));
  config.width = from.size("hidden_size");
  config.heads = from.size("num_attention_heads");
  config.kv_heads = from.size("num_key_value_heads", config.heads);
  config.hidden = from.size("intermediate_size");
  config.vocabulary = from.size("vocab_size");
  config.positions = fields.integer("max_position_embeddings", 1, INT32_MAX);
  config.eps = static_cast<float>(fields.number("rms_norm_eps", 0.0, 1.0, 1e-6));
  config.tied = fields.boolean("tie_word_embeddings", false);
  if (fields.field("head_dim")) config.head_width = from.size("head_dim");
  from.refuse("hidden_act", fields.text("hidden_act", "silu") != "silu");
  from.refuse("mlp_bias", fields.boolean("mlp_bias", false));
  from.check_heads("num_attention_heads");
  if (fields.status() == Status::Ok && config.heads % config.kv_heads != 0)
    fields.fail("num_key_value_heads", format("must divide %lld", static_cast<long long>(config.heads)));
  from.read_rotation();
}

void read_llama_gguf(GgufConfig& from) {
  from.read_sizes(".attention.layer_norm_rms_epsilon");
  from.read_tables();
  from.read_rotation();
}

nn::EncoderLayerOptions llama_layer(const Layer& layer) {
  nn::EncoderLayerOptions options = common_layer(layer);
  options.attention.names = nn::AttentionNames{.q = "q_proj", .k = "k_proj", .v = "v_proj", .out = "o_proj"};
  options.attention.bias = options.attention.out_bias = false;
  options.attention.rotary = layer.config.rotary;
  options.feed_forward.activation = Activation::Silu;
  options.feed_forward.first = "up_proj";
  options.feed_forward.second = "down_proj";
  options.feed_forward.gate = "gate_proj";
  options.feed_forward.bias = false;
  options.norm.kind = nn::NormKind::Rms;
  options.attention_names = {.attention = "self_attn", .norm = "input_layernorm"};
  options.feed_forward_names = {.feed_forward = "mlp", .norm = "post_attention_layernorm"};
  return options;
}

}  // namespace heed::models
