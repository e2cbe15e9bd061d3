// Llama, and Mistral, which is the same network (Touvron et al. 2023, arXiv:2302.13971; Jiang et al. 2023, arXiv:2310.06825):
// RMSNorm, rotary embedding, grouped queries, SwiGLU, no biases.
#include "models/llama.hpp"

#include "models/chat.hpp"

namespace heed::models {

namespace {

constexpr std::string_view kLlamaTypes[] = {"mistral"};

void read_mistral_json(JsonConfig& from) {
  from.refuse("attention_bias", from.fields.boolean("attention_bias", false));
  read_llama_json(from);
  from.config.window = from.fields.integer("sliding_window", 0, INT32_MAX, 0);  // Mistral's, unless it is null
}

// GGUF files order the rows of queries and keys for RotaryPairs::Adjacent.
void read_neighbours_gguf(GgufConfig& from) {
  from.config.rotary.pairs = RotaryPairs::Adjacent;
  read_llama_gguf(from);
}

Tensor add_llama_layer(Graph& g, Tensor x, const Layer& layer) {
  return nn::encoder_layer(g, x, layer.name, llama_layer(layer));
}

// --- Llama 3: <|start_header_id|>role<|end_header_id|>, content<|eot_id|>; 3.1 and later with dates

bool is_llama3(const ChatReader& from) { return from.has("<|start_header_id|>") && from.has("<|eot_id|>"); }

Status read_llama3(ChatReader& from) {
  const std::string other = from.other_mark(
      {"begin_of_text|>", "start_header_id|>", "end_header_id|>", "eot_id|>", "eom_id|>", "python_tag|>", "image|>"});
  if (!other.empty()) return from.unknown("it has <|start_header_id|> and also " + other);
  ChatVariant& variant = from.variant;
  variant.always_prompts = !from.has("add_generation_prompt");
  variant.trims = from.trims();
  const std::vector<std::string> dates = from.literals_from("Cutting Knowledge Date: ");
  if (dates.empty()) return Status::Ok;
  variant.knowledge = dates[0].substr(0, dates[0].find('\n'));
  variant.date = from.literal_behind("date_string = ");
  if (variant.knowledge.empty() || variant.date.empty() || !from.has("Today Date: "))
    return from.unknown("its dates are not written as those of Llama 3.1");
  return Status::Ok;
}

Status write_llama3(ChatWriter& to) {
  const auto header = [&](std::string_view role) {
    to.mark("<|start_header_id|>");
    to.say(role);
    to.mark("<|end_header_id|>\n\n");
  };
  to.mark(to.options.bos);
  std::span<const ChatMessage> rest = to.messages;
  if (!to.variant.knowledge.empty()) {
    header("system");
    to.say("Cutting Knowledge Date: " + to.variant.knowledge + "\nToday Date: ");
    to.say(to.options.date.empty() ? to.variant.date : to.options.date);
    to.say("\n\n");
    if (rest[0].role == "system") {
      to.say(to.trimmed(rest[0].content));
      rest = rest.subspan(1);
    }
    to.mark("<|eot_id|>");
  }
  for (const ChatMessage& message : rest) {
    header(message.role);
    to.say(to.trimmed(message.content));
    to.mark("<|eot_id|>");
  }
  if (to.prompts()) header("assistant");
  return Status::Ok;
}

// --- Llama 2: <s>[INST] <<SYS>> ... [/INST] answer </s>

bool is_llama2(const ChatReader& from) { return !is_llama3(from) && from.has("[INST]") && from.has("<<SYS>>"); }

Status read_llama2(ChatReader& from) {
  if (!from.has("<</SYS>>")) return from.unknown("it has <<SYS>> without <</SYS>>");
  if (!from.has_literal("[INST] ") || !from.has_literal(" [/INST]") || !from.has("bos_token"))
    return from.unknown("it has <<SYS>>, but its turns are not written as those of Llama 2");
  from.variant.trims = from.trims();
  return Status::Ok;
}

// Trailing whitespace is stripped from the whole text, also if the user's message is empty and the system message is last.
void write_with_system(ChatWriter& to, std::string_view system, std::string_view content) {
  const bool silent = to.variant.trims && strip(content).empty();
  to.mark("<<SYS>>\n");
  to.say(system);
  to.mark(silent ? "\n<</SYS>>" : "\n<</SYS>>\n\n");
  if (!silent) to.say(to.variant.trims ? strip_back(content) : content);
}

Status write_llama2(ChatWriter& to) {
  Turns turns;
  if (to.messages.size() == 1 && to.messages[0].role == "system") return to.refused("there is only a system message");
  if (const Status status = find_turns(to, &turns); status != Status::Ok) return status;
  for (size_t i = 0; i < turns.rest.size(); ++i) {
    const std::string_view content = turns.rest[i].content;
    if (i % 2 != 0) {
      to.mark(" ");
      to.say(to.trimmed(content));
      to.mark(" ");
      to.mark(to.options.eos);
      continue;
    }
    to.mark(to.options.bos);
    to.mark("[INST] ");
    if (i == 0 && turns.system != nullptr)
      write_with_system(to, *turns.system, content);
    else
      to.say(to.trimmed(content));
    to.mark(" [/INST]");
  }
  return Status::Ok;
}

// --- Mistral: [INST] ... [/INST] answer</s>, with or without spaces, and [SYSTEM_PROMPT]

bool is_mistral(const ChatReader& from) { return !is_llama3(from) && !is_llama2(from) && from.has("[INST]"); }

Status read_mistral(ChatReader& from) {
  if (!from.has("[/INST]")) return from.unknown("it has [INST] without [/INST]");
  if (from.has("[THINK]")) return from.unknown("it has [INST] and also [THINK]");
  ChatVariant& variant = from.variant;
  const auto space_if = [](bool is) { return std::string(is ? 1 : 0, ' '); };
  // Strings are moved because GCC 12 warns about copies.
  variant.open = std::string(from.has_literal(" [INST] ")  ? " [INST] "
                             : from.has_literal("[INST] ") ? "[INST] "
                                                           : "[INST]");
  variant.close = space_if(from.has_literal(" [/INST]")) + "[/INST]";
  variant.before_answer = space_if(from.has_any({"' ' + message", "\" \" + message"}));
  variant.behind_answer = space_if(from.has_any({"eos_token + ' '", "eos_token + \" \"", "eos_token+' '"}));
  variant.trims = from.trims();
  variant.tags_system = from.has("[SYSTEM_PROMPT]");
  variant.needs_system = variant.tags_system && from.has("default_system_message");
  variant.system_last = from.has_any({"loop.last and system_message", "loop.last and messages[0]"});
  if (variant.tags_system && from.has("[SYSTEM_PROMPT] ")) return from.unknown("it has a space behind [SYSTEM_PROMPT]");
  return Status::Ok;
}

Status write_mistral(ChatWriter& to) {
  Turns turns;
  if (to.messages[0].role != "system" && to.variant.needs_system)
    return to.refused("there is no system message, and the template would write one of its own");
  if (const Status status = find_turns(to, &turns); status != Status::Ok) return status;
  to.mark(to.options.bos);
  if (turns.system != nullptr && to.variant.tags_system) {
    to.mark("[SYSTEM_PROMPT]");
    to.say(*turns.system);
    to.mark("[/SYSTEM_PROMPT]");
    turns.system = nullptr;
  }
  // Templates that look only at the last message lose a system message after an answer.
  const size_t place = to.variant.system_last ? turns.rest.size() - 1 : 0;
  for (size_t i = 0; i < turns.rest.size(); ++i) {
    const std::string_view content = turns.rest[i].content;
    if (i % 2 != 0) {
      to.mark(to.variant.before_answer);
      to.say(to.trimmed(content));
      to.mark(to.options.eos);
      to.mark(to.variant.behind_answer);
      continue;
    }
    to.mark(to.variant.open);
    if (turns.system != nullptr && i == place) {
      to.say(*turns.system);
      to.say("\n\n");
    }
    to.say(content);
    to.mark(to.variant.close);
  }
  return Status::Ok;
}

}  // namespace

extern constinit const DecoderFamily llama = [] {
  DecoderFamily family = like_llama("llama", read_mistral_json, read_neighbours_gguf, add_llama_layer);
  family.other_types = kLlamaTypes;
  return family;
}();

extern constinit const ChatFormat llama3_chat = {
    .name = "Llama 3",
    .mark = "<|start_header_id|>",
    .answer_end = "<|eot_id|>",
    .make_plain = [](ChatVariant* variant) { variant->trims = true; },
    .is = is_llama3,
    .read = read_llama3,
    .write = write_llama3,
};

extern constinit const ChatFormat llama2_chat = {
    .name = "Llama 2",
    .mark = "[INST]",
    .make_plain = [](ChatVariant* variant) { variant->trims = true; },
    .is = is_llama2,
    .read = read_llama2,
    .write = write_llama2,
};

extern constinit const ChatFormat mistral_chat = {
    .name = "Mistral",
    .mark = "[INST]",
    .make_plain = [](ChatVariant* variant) { variant->open = "[INST] ", variant->close = " [/INST]"; },
    .is = is_mistral,
    .read = read_mistral,
    .write = write_mistral,
};

void read_llama_json(JsonConfig& from, std::string_view activation) {
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
  from.refuse("hidden_act", fields.text("hidden_act", std::string(activation)) != activation);
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
  if (layer.config.window_base > 0.0f && !sees_all(layer.config, layer.index)) {
    options.attention.rotary->base = layer.config.window_base;
    options.attention.rotary->scaling = {};
  }
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
