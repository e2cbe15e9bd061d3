// Gemma 3 (Gemma Team 2025, arXiv:2503.19786), the text part: Llama with norms before and after each sublayer, an RMSNorm of each query and
// key head, GeGLU, token embeddings scaled by the square root of the width, and sliding windows in five of six layers, which have their own
// rotary base.
#include "models/chat.hpp"
#include "models/llama.hpp"

namespace heed::models {

namespace {

// Defaults of numbers that files may omit.
constexpr int kFullEvery = 6;
constexpr double kWindowBase = 10000.0;
constexpr int64_t kScoreWidth = 256;

constexpr GgufName kGemma3GgufNames[] = {{"model.embed_tokens", "token_embd"},
                                         {"input_layernorm", "attn_norm"},
                                         {"self_attn.q_proj", "attn_q"},
                                         {"self_attn.k_proj", "attn_k"},
                                         {"self_attn.v_proj", "attn_v"},
                                         {"self_attn.q_norm", "attn_q_norm"},
                                         {"self_attn.k_norm", "attn_k_norm"},
                                         {"self_attn.o_proj", "attn_output"},
                                         {"post_attention_layernorm", "post_attention_norm"},
                                         {"pre_feedforward_layernorm", "ffn_norm"},
                                         {"mlp.gate_proj", "ffn_gate"},
                                         {"mlp.up_proj", "ffn_up"},
                                         {"mlp.down_proj", "ffn_down"},
                                         {"post_feedforward_layernorm", "post_ffw_norm"},
                                         {"model.norm", "output_norm"},
                                         {"lm_head", "output"}};

constexpr std::string_view kGemma3Types[] = {"gemma3_text"};
constexpr std::string_view kGemma3Keys[] = {".attention.sliding_window_pattern"};

void read_gemma3_json(JsonConfig& from) {
  constexpr std::string_view kActivation = "gelu_pytorch_tanh";
  Fields& fields = from.fields;
  DecoderConfig& config = from.config;
  if (fields.field("text_config"))
    fields.fail("text_config", "models with pictures are not supported; gemma3_text is", Status::Unsupported);
  config.rotary.base = 1e6f;
  config.window_base = static_cast<float>(fields.number("rope_local_base_freq", 1.0, 1e30, kWindowBase));
  read_llama_json(from, kActivation);
  config.tied = fields.boolean("tie_word_embeddings", true);
  config.score_width = from.size("query_pre_attn_scalar", kScoreWidth);
  config.window = fields.integer("sliding_window", 1, INT32_MAX, 4096);
  const char* pattern = fields.field("_sliding_window_pattern") ? "_sliding_window_pattern" : "sliding_window_pattern";
  config.full_every = static_cast<int>(fields.integer(pattern, 1, INT32_MAX, kFullEvery));
  const Json layers = fields.field("layer_types");
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string* type = layers.element(i).text();
    const bool full = sees_all(config, static_cast<int>(i));
    from.refuse("layer_types", type == nullptr || *type != (full ? "full_attention" : "sliding_attention"));
  }
  from.refuse("hidden_activation", fields.text("hidden_activation", std::string(kActivation)) != kActivation);
  for (const char* flag : {"attention_bias", "use_bidirectional_attention"})
    from.refuse(flag, fields.boolean(flag, false));
  for (const char* cap : {"attn_logit_softcapping", "final_logit_softcapping"})
    from.refuse(cap, fields.number(cap, 0.0, 1e6, 0.0) != 0.0);
}

void read_gemma3_gguf(GgufConfig& from) {
  constexpr int kLayersOf27B =
      62;  // models with this many layers divide scores by the square root of another width, for which files have no
           // key
  read_llama_gguf(from);
  DecoderConfig& config = from.config;
  config.window_base = static_cast<float>(from.fields.number(".rope.freq_base_swa", 1.0, 1e30, kWindowBase));
  config.full_every =
      static_cast<int>(from.fields.integer(".attention.sliding_window_pattern", 1, INT32_MAX, kFullEvery));
  if (from.fields.status() == Status::Ok && config.layers == kLayersOf27B)
    config.score_width = config.width / config.heads;
}

Tensor add_gemma3_layer(Graph& g, Tensor x, const Layer& layer) {
  nn::EncoderLayerOptions options = llama_layer(layer);
  options.attention.names->q_norm = "q_norm";
  options.attention.names->k_norm = "k_norm";
  options.attention.head_norm_eps = layer.config.eps;
  options.feed_forward.activation = Activation::GeluTanh;
  const auto norm = [&](Tensor y, const char* name) { return nn::rmsnorm(g, y, layer.name + name, layer.config.eps); };
  Tensor y = nn::self_attention(g, norm(x, ".input_layernorm"), layer.name + ".self_attn", options.attention);
  x = g.add(x, norm(y, ".post_attention_layernorm"));
  y = nn::feed_forward(g, norm(x, ".pre_feedforward_layernorm"), layer.name + ".mlp", options.feed_forward);
  return g.add(x, norm(y, ".post_feedforward_layernorm"));
}

// --- <start_of_turn>role, content<end_of_turn>; a system message precedes the user's first message

bool is_gemma(const ChatReader& from) { return from.has("<start_of_turn>") && from.has("<end_of_turn>"); }

Status read_gemma(ChatReader& from) {
  if (from.has("System role not supported"))
    return from.unknown("it has <start_of_turn> and takes no system message, as those of Gemma 1 and 2");
  from.variant.always_prompts = !from.has("add_generation_prompt");
  from.variant.trims = from.trims();
  return Status::Ok;
}

Status write_gemma(ChatWriter& to) {
  Turns turns;
  if (to.messages.size() == 1 && to.messages[0].role == "system") return to.refused("there is only a system message");
  if (const Status status = find_turns(to, &turns); status != Status::Ok) return status;
  to.mark(to.options.bos);
  for (size_t i = 0; i < turns.rest.size(); ++i) {
    to.mark(i % 2 == 0 ? "<start_of_turn>user\n" : "<start_of_turn>model\n");
    if (i == 0 && turns.system != nullptr) {
      to.say(*turns.system);
      to.say("\n\n");
    }
    to.say(to.trimmed(turns.rest[i].content));
    to.mark("<end_of_turn>\n");
  }
  if (to.prompts()) to.mark("<start_of_turn>model\n");
  return Status::Ok;
}

}  // namespace

extern constinit const DecoderFamily gemma3 = {
    .name = "gemma3",
    .other_types = kGemma3Types,
    .names = kLlamaNames,
    .gguf_names = kGemma3GgufNames,
    .scales_tokens = true,
    .norm_offset = 1.0f,
    .gguf_keys = kGemma3Keys,
    .read_json = read_gemma3_json,
    .read_gguf = read_gemma3_gguf,
    .add_layer = add_gemma3_layer,
};

extern constinit const ChatFormat gemma_chat = {
    .name = "Gemma",
    .mark = "<start_of_turn>",
    .answer_end = "<end_of_turn>",
    .make_plain = [](ChatVariant* variant) { variant->trims = true; },
    .is = is_gemma,
    .read = read_gemma,
    .write = write_gemma,
};

}  // namespace heed::models
