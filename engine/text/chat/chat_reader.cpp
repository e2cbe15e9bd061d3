// Finds out from a model's chat template, a program in Jinja, which of the known families and variants it is.
#include <heed/chat.hpp>

#include <algorithm>
#include <initializer_list>

#include "base/logging.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

class ChatReader {
 public:
  ChatReader(std::string_view jinja, std::string_view name, const Log& log, ChatTemplate* chat)
      : jinja_(jinja), name_(name), log_(log), chat_(*chat) {}

  Status read() {
    if (jinja_.size() > ChatTemplate::kMaxBytes)
      return fail(log_, Status::Unsupported,
                  format("%s: the chat template has %zu bytes, at most %zu are read", name_.c_str(), jinja_.size(),
                         ChatTemplate::kMaxBytes));
    if (has("<|im_start|>") && has("<|im_end|>")) return chat_ml();
    if (has("<|start_header_id|>") && has("<|eot_id|>")) return llama3();
    if (has("[INST]")) return has("<<SYS>>") ? llama2() : mistral();
    return unknown("it has none of the marks <|im_start|>, <|start_header_id|> and [INST]");
  }

 private:
  bool has(std::string_view part) const { return jinja_.find(part) != std::string_view::npos; }
  bool has_any(std::initializer_list<std::string_view> parts) const {
    return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return has(part); });
  }
  // `text` as a literal of its own, in either kind of quotes.
  bool has_literal(const std::string& text) const { return has("'" + text + "'") || has('"' + text + '"'); }
  bool trims() const {
    return has_any({"content'] | trim", "content']|trim", "content\"] | trim", "content\"]|trim", "content | trim",
                    "content|trim", "content.strip()"});
  }

  Status unknown(const std::string& why) const {
    constexpr size_t kShown = 80;
    std::string begin(jinja_.substr(0, kShown));
    if (jinja_.size() > kShown) begin += "...";
    return fail(
        log_, Status::Unsupported,
        format("%s: the chat template is not known: %s. It begins with '%s'. ChatML, Llama 2, Llama 3 and Mistral "
               "are known",
               name_.c_str(), why.c_str(), printable(begin).c_str()));
  }

  // A mark <|...|> that none of `known` begins, or "".
  std::string other_mark(std::initializer_list<std::string_view> known) const {
    for (size_t at = jinja_.find("<|"); at != std::string_view::npos; at = jinja_.find("<|", at + 2)) {
      const std::string_view rest = jinja_.substr(at + 2);
      if (std::any_of(known.begin(), known.end(), [&](std::string_view word) { return rest.starts_with(word); }))
        continue;
      const size_t end = rest.find("|>");
      constexpr size_t kMost = 40;
      if (end != std::string_view::npos && end <= kMost) return printable(jinja_.substr(at, end + 4));
    }
    return {};
  }

  Status chat_ml() {
    const std::string other = other_mark({"im_start|>", "im_end|>", "endoftext|>", "vision_", "image_", "video_"});
    if (!other.empty()) return unknown("it has <|im_start|> and also " + other);
    if (has_any({"Knowledge Cutoff", "strftime_now"})) return unknown("it has <|im_start|> and writes dates");
    chat_ = ChatTemplate(ChatFamily::ChatMl);
    chat_.default_system_ = literal_system();
    chat_.always_prompts_ = !has("add_generation_prompt");
    chat_.trims_ = trims();
    chat_.thinks_ = has("</think>");
    return Status::Ok;
  }

  // What stands in one literal between "<|im_start|>system\n" and "<|im_end|>".
  std::string literal_system() const {
    constexpr std::string_view kBegin = "<|im_start|>system", kEnd = "<|im_end|>";
    for (size_t at = jinja_.find(kBegin); at != std::string_view::npos; at = jinja_.find(kBegin, at + 1)) {
      if (at == 0) continue;
      const std::string_view rest = jinja_.substr(at + kBegin.size());
      const std::string text = literal(rest, jinja_[at - 1]);
      const size_t end = text.find(kEnd);
      if (text.starts_with('\n') && end != std::string::npos) return text.substr(1, end - 1);
    }
    return {};
  }

  // The rest of a literal that `quote` ends, with its escapes resolved; "" if nothing ends it.
  static std::string literal(std::string_view rest, char quote) {
    std::string text;
    if (quote != '\'' && quote != '"') return text;
    for (size_t i = 0; i < rest.size(); ++i) {
      if (rest[i] == quote) return text;
      if (rest[i] != '\\' || i + 1 == rest.size()) {
        text += rest[i];
        continue;
      }
      const char escaped = rest[++i];
      text += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped == 'r' ? '\r' : escaped;
    }
    return {};
  }

  // The first literal that stands behind `begin`, or "".
  std::string literal_behind(std::string_view begin) const {
    for (size_t at = jinja_.find(begin); at != std::string_view::npos; at = jinja_.find(begin, at + 1)) {
      const std::string_view rest = jinja_.substr(at + begin.size());
      const std::string text = rest.empty() ? std::string() : literal(rest.substr(1), rest[0]);
      if (!text.empty()) return text;
    }
    return {};
  }

  Status llama3() {
    const std::string other = other_mark(
        {"begin_of_text|>", "start_header_id|>", "end_header_id|>", "eot_id|>", "eom_id|>", "python_tag|>", "image|>"});
    if (!other.empty()) return unknown("it has <|start_header_id|> and also " + other);
    chat_ = ChatTemplate(ChatFamily::Llama3);
    chat_.always_prompts_ = !has("add_generation_prompt");
    chat_.trims_ = trims();
    constexpr std::string_view kKnowledge = "Cutting Knowledge Date: ";
    const size_t at = jinja_.find(kKnowledge);
    if (at == std::string_view::npos) return Status::Ok;
    const std::string knowledge = literal(jinja_.substr(at + kKnowledge.size()), at == 0 ? ' ' : jinja_[at - 1]);
    chat_.knowledge_ = knowledge.substr(0, knowledge.find('\n'));
    chat_.date_ = literal_behind("date_string = ");
    if (chat_.knowledge_.empty() || chat_.date_.empty() || !has("Today Date: "))
      return unknown("its dates are not written as those of Llama 3.1");
    return Status::Ok;
  }

  Status llama2() {
    if (!has("<</SYS>>")) return unknown("it has <<SYS>> without <</SYS>>");
    if (!has_literal("[INST] ") || !has_literal(" [/INST]") || !has("bos_token"))
      return unknown("it has <<SYS>>, but its turns are not written as those of Llama 2");
    chat_ = ChatTemplate(ChatFamily::Llama2);
    chat_.trims_ = trims();
    return Status::Ok;
  }

  Status mistral() {
    if (!has("[/INST]")) return unknown("it has [INST] without [/INST]");
    if (has("[THINK]")) return unknown("it has [INST] and also [THINK]");
    chat_ = ChatTemplate(ChatFamily::Mistral);
    // Strings are moved here, since GCC 12 warns of copies.
    const auto space_if = [](bool is) { return std::string(is ? 1 : 0, ' '); };
    chat_.open_ = std::string(has_literal(" [INST] ") ? " [INST] " : has_literal("[INST] ") ? "[INST] " : "[INST]");
    chat_.close_ = space_if(has_literal(" [/INST]")) + "[/INST]";
    chat_.before_answer_ = space_if(has_any({"' ' + message", "\" \" + message"}));
    chat_.behind_answer_ = space_if(has_any({"eos_token + ' '", "eos_token + \" \"", "eos_token+' '"}));
    chat_.trims_ = trims();
    chat_.tags_system_ = has("[SYSTEM_PROMPT]");
    chat_.needs_system_ = chat_.tags_system_ && has("default_system_message");
    chat_.system_last_ = has_any({"loop.last and system_message", "loop.last and messages[0]"});
    if (chat_.tags_system_ && has("[SYSTEM_PROMPT] ")) return unknown("it has a space behind [SYSTEM_PROMPT]");
    return Status::Ok;
  }

  const std::string_view jinja_;
  const std::string name_;
  const Log& log_;
  ChatTemplate& chat_;
};

ChatTemplate::ChatTemplate(ChatFamily family) : family_(family) {
  trims_ = family == ChatFamily::Llama2 || family == ChatFamily::Llama3;
  if (family == ChatFamily::Mistral) open_ = "[INST] ", close_ = " [/INST]";
}

Status ChatTemplate::recognize(std::string_view jinja, std::string_view name, const Log& log, ChatTemplate* chat) {
  if (chat == nullptr) return Status::InvalidArgument;
  ChatTemplate read;
  const Status status = ChatReader(jinja, name, log, &read).read();
  if (status == Status::Ok) *chat = std::move(read);
  return status;
}

}  // namespace heed
