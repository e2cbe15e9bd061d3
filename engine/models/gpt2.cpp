// GPT-2 (Radford et al. 2019): LayerNorm, learned positions, tanh-approximated GELU, biases. Hugging Face stores its matrices as [in, out],
// GGUF files as [out, in].
#include "models/config.hpp"
#include "models/network.hpp"

namespace heed::models {

namespace {

constexpr GgufName kGpt2GgufNames[] = {
    {"wte", "token_embd"},          {"wpe", "position_embd"}, {"ln_1", "attn_norm"},  {"attn.c_attn", "attn_qkv"},
    {"attn.c_proj", "attn_output"}, {"ln_2", "ffn_norm"},     {"mlp.c_fc", "ffn_up"}, {"mlp.c_proj", "ffn_down"},
    {"ln_f", "output_norm"},        {"lm_head", "output"}};

// Causal masks that old checkpoints contain.
constexpr std::string_view kGpt2Unused[] = {".attn.bias", ".attn.masked_bias"};

void read_gpt2_json(JsonConfig& from) {
  Fields& fields = from.fields;
  DecoderConfig& config = from.config;
  config.layers = static_cast<int>(fields.integer("n_layer", 1, nn::kMaxLayers));
  config.width = from.size("n_embd");
  config.heads = config.kv_heads = from.size("n_head");
  config.hidden = from.size("n_inner", 4 * config.width);
  config.vocabulary = from.size("vocab_size");
  config.positions = from.size("n_positions");
  config.eps = static_cast<float>(fields.number("layer_norm_epsilon", 0.0, 1.0, 1e-5));
  config.tied = fields.boolean("tie_word_embeddings", true);
  const std::string act = fields.text("activation_function", "gelu_new");
  from.refuse("activation_function", act != "gelu_new" && act != "gelu_pytorch_tanh");
  from.refuse("scale_attn_weights", !fields.boolean("scale_attn_weights", true));
  from.refuse("scale_attn_by_inverse_layer_idx", fields.boolean("scale_attn_by_inverse_layer_idx", false));
  from.refuse("add_cross_attention", fields.boolean("add_cross_attention", false));
  from.check_heads("n_head");
}

void read_gpt2_gguf(GgufConfig& from) {
  DecoderConfig& config = from.config;
  config.in_out = false;
  from.read_sizes(".attention.layer_norm_epsilon");
  if (config.kv_heads != config.heads || config.head_width * config.heads != config.width)
    from.fields.fail(".attention.head_count", "heads of another kind than GPT-2's", Status::Unsupported);
  from.read_tables();
  config.positions = from.rows_of("position_embd.weight");
}

Tensor add_gpt2_layer(Graph& g, Tensor x, const Layer& layer) {
  nn::EncoderLayerOptions options = common_layer(layer);
  const bool in_out = layer.config.in_out;
  options.attention.names = nn::AttentionNames{.qkv = "c_attn", .out = "c_proj", .transposed = in_out};
  options.feed_forward.activation = Activation::GeluTanh;
  options.feed_forward.first = "c_fc";
  options.feed_forward.second = "c_proj";
  options.feed_forward.transposed = in_out;
  options.attention_names = {.attention = "attn", .norm = "ln_1"};
  options.feed_forward_names = {.feed_forward = "mlp", .norm = "ln_2"};
  return nn::encoder_layer(g, x, layer.name, options);
}

}  // namespace

extern constinit const DecoderFamily gpt2 = {
    .name = "gpt2",
    .names =
        {.tokens = "wte.weight", .positions = "wpe.weight", .layers = "h", .norm = "ln_f", .head = "lm_head.weight"},
    .gguf_names = kGpt2GgufNames,
    .wrapper = "transformer.",
    .unused = kGpt2Unused,
    .final_norm = nn::NormKind::Layer,
    .read_json = read_gpt2_json,
    .read_gguf = read_gpt2_gguf,
    .add_layer = add_gpt2_layer,
};

}  // namespace heed::models
