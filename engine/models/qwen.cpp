// Qwen 2 (Yang et al. 2024, arXiv:2407.10671): Llama with biases of queries, keys and values.
// Qwen 3 (Yang et al. 2025, arXiv:2505.09388): Llama with an RMSNorm of each query and key head.
#include "models/chat.hpp"
#include "models/llama.hpp"

namespace heed::models {

namespace {

void read_qwen_json(JsonConfig& from) {
  read_llama_json(from);
  // If it is enabled, not all layers have a window.
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

// --- ChatML, which SmolLM 2 also uses: <|im_start|>role, content<|im_end|>

bool is_chat_ml(const ChatReader& from) { return from.has("<|im_start|>") && from.has("<|im_end|>"); }

Status read_chat_ml(ChatReader& from) {
  const std::string other = from.other_mark({"im_start|>", "im_end|>", "endoftext|>", "vision_", "image_", "video_"});
  if (!other.empty()) return from.unknown("it has <|im_start|> and also " + other);
  if (from.has_any({"Knowledge Cutoff", "strftime_now"})) return from.unknown("it has <|im_start|> and writes dates");
  from.variant.always_prompts = !from.has("add_generation_prompt");
  from.variant.trims = from.trims();
  from.variant.thinks = from.has("</think>");
  // The text between "<|im_start|>system\n" and "<|im_end|>" in one literal.
  for (const std::string& text : from.literals_from("<|im_start|>system"))
    if (const size_t end = text.find("<|im_end|>"); text.starts_with('\n') && end != std::string::npos) {
      from.variant.default_system = text.substr(1, end - 1);
      break;
    }
  return Status::Ok;
}

// Qwen 3 keeps the thoughts only of answers after the last question.
void write_thoughtful_answer(ChatWriter& to, std::string_view content, bool behind_query, bool last) {
  constexpr std::string_view kBegin = "<think>", kEnd = "</think>";
  std::string_view thoughts;
  if (const size_t end = content.find(kEnd); end != std::string_view::npos) {
    thoughts = content.substr(0, end);
    if (const size_t begin = thoughts.rfind(kBegin); begin != std::string_view::npos)
      thoughts.remove_prefix(begin + kBegin.size());
    thoughts = strip_lines(thoughts);
    content.remove_prefix(content.rfind(kEnd) + kEnd.size());
    while (content.starts_with('\n')) content.remove_prefix(1);
  }
  if (behind_query && (last || !thoughts.empty())) {
    to.mark("<think>\n");
    to.say(thoughts);
    to.mark("\n</think>\n\n");
    while (content.starts_with('\n')) content.remove_prefix(1);
  }
  to.say(content);
}

Status write_chat_ml(ChatWriter& to) {
  const std::span<const ChatMessage> all = to.messages;
  if (all[0].role != "system" && !to.variant.default_system.empty()) {
    to.mark("<|im_start|>system\n");
    to.say(to.variant.default_system);
    to.mark("<|im_end|>\n");
  }
  size_t query = all.size() - 1;  // index of the user's last message
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].role == "user") query = i;
  for (size_t i = 0; i < all.size(); ++i) {
    to.mark("<|im_start|>");
    to.say(all[i].role);
    to.mark("\n");
    if (to.variant.thinks && all[i].role == "assistant")
      write_thoughtful_answer(to, all[i].content, i > query, i + 1 == all.size());
    else
      to.say(to.trimmed(all[i].content));
    to.mark("<|im_end|>\n");
  }
  if (!to.prompts()) return Status::Ok;
  to.mark("<|im_start|>assistant\n");
  if (to.variant.thinks && !to.options.think) to.mark("<think>\n\n</think>\n\n");
  return Status::Ok;
}

}  // namespace

extern constinit const DecoderFamily qwen2 = like_llama("qwen2", read_qwen_json, read_llama_gguf, add_qwen2_layer);
extern constinit const DecoderFamily qwen3 = like_llama("qwen3", read_qwen3_json, read_llama_gguf, add_qwen3_layer);

extern constinit const ChatFormat chat_ml = {
    .name = "ChatML",
    .mark = "<|im_start|>",
    .answer_end = "<|im_end|>",
    .is = is_chat_ml,
    .read = read_chat_ml,
    .write = write_chat_ml,
};

}  // namespace heed::models
