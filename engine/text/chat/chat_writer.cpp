// Writes a conversation as the known chat templates do.
#include <heed/chat.hpp>

#include "base/logging.hpp"
#include "io/safetensors_header.hpp"
#include "text/chat/chat_text.hpp"

namespace heed {

class ChatWriter {
 public:
  ChatWriter(const ChatTemplate& chat, std::span<const ChatMessage> messages, const ChatOptions& options,
             const Log& log, std::vector<ChatPart>* parts)
      : chat_(chat), messages_(messages), options_(options), log_(log), parts_(*parts) {}

  Status write() {
    parts_.clear();
    if (messages_.empty()) return refused("there is no message");
    for (size_t i = 0; i < messages_.size(); ++i)
      if (messages_[i].role.empty()) return refused(format("message %zu has no role", i));
    switch (chat_.family_) {
      case ChatFamily::ChatMl: chat_ml(); return Status::Ok;
      case ChatFamily::Llama3: llama3(); return Status::Ok;
      case ChatFamily::Llama2:
      case ChatFamily::Mistral: return turns();
    }
    return Status::InvalidArgument;
  }

 private:
  Status refused(const std::string& why) const {
    return fail(log_, Status::InvalidArgument, format("chat (%s): %s", to_string(chat_.family_), why.c_str()));
  }

  void put(std::string_view text, bool read_special) {
    if (text.empty()) return;
    if (parts_.empty() || parts_.back().read_special != read_special) parts_.push_back({{}, read_special});
    parts_.back().text += text;
  }
  void mark(std::string_view text) { put(text, true); }
  void say(std::string_view text) { put(text, false); }
  std::string_view trimmed(std::string_view text) const { return chat_.trims_ ? strip(text) : text; }
  bool prompts() const { return options_.generation_prompt || chat_.always_prompts_; }

  // --- ChatML

  void chat_ml() {
    if (messages_[0].role != "system" && !chat_.default_system_.empty()) {
      mark("<|im_start|>system\n");
      say(chat_.default_system_);
      mark("<|im_end|>\n");
    }
    size_t query = messages_.size() - 1;  // the last of the user
    for (size_t i = 0; i < messages_.size(); ++i)
      if (messages_[i].role == "user") query = i;
    for (size_t i = 0; i < messages_.size(); ++i) {
      mark("<|im_start|>");
      say(messages_[i].role);
      mark("\n");
      if (chat_.thinks_ && messages_[i].role == "assistant")
        thoughtful_answer(messages_[i].content, i > query, i + 1 == messages_.size());
      else
        say(trimmed(messages_[i].content));
      mark("<|im_end|>\n");
    }
    if (!prompts()) return;
    mark("<|im_start|>assistant\n");
    if (chat_.thinks_ && !options_.think) mark("<think>\n\n</think>\n\n");
  }

  // Qwen 3 keeps the thoughts of answers behind the last question only.
  void thoughtful_answer(std::string_view content, bool behind_query, bool last) {
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
      mark("<think>\n");
      say(thoughts);
      mark("\n</think>\n\n");
      while (content.starts_with('\n')) content.remove_prefix(1);
    }
    say(content);
  }

  // --- Llama 3

  void llama3() {
    mark(options_.bos);
    std::span<const ChatMessage> rest = messages_;
    if (!chat_.knowledge_.empty()) {
      header("system");
      say("Cutting Knowledge Date: " + chat_.knowledge_ + "\nToday Date: ");
      say(options_.date.empty() ? chat_.date_ : options_.date);
      say("\n\n");
      if (rest[0].role == "system") {
        say(trimmed(rest[0].content));
        rest = rest.subspan(1);
      }
      mark("<|eot_id|>");
    }
    for (const ChatMessage& message : rest) {
      header(message.role);
      say(trimmed(message.content));
      mark("<|eot_id|>");
    }
    if (prompts()) header("assistant");
  }

  void header(std::string_view role) {
    mark("<|start_header_id|>");
    say(role);
    mark("<|end_header_id|>\n\n");
  }

  // --- Llama 2 and Mistral

  Status turns() {
    const bool has_system = messages_[0].role == "system";
    if (!has_system && chat_.needs_system_)
      return refused("there is no system message, and the template would write one of its own");
    const std::span<const ChatMessage> rest = messages_.subspan(has_system ? 1 : 0);
    if (rest.empty() && chat_.family_ == ChatFamily::Llama2) return refused("there is only a system message");
    for (size_t i = 0; i < rest.size(); ++i)
      if (rest[i].role != (i % 2 == 0 ? "user" : "assistant"))
        return refused(format("message %zu is of '%s'; user and assistant must alternate, the user first",
                              i + (has_system ? 1 : 0), printable(rest[i].role).c_str()));
    const std::string_view* system = has_system ? &messages_[0].content : nullptr;
    if (chat_.family_ == ChatFamily::Llama2)
      llama2(system, rest);
    else
      mistral(system, rest);
    return Status::Ok;
  }

  void llama2(const std::string_view* system, std::span<const ChatMessage> rest) {
    for (size_t i = 0; i < rest.size(); ++i) {
      if (i % 2 != 0) {
        mark(" ");
        say(trimmed(rest[i].content));
        mark(" ");
        mark(options_.eos);
        continue;
      }
      mark(options_.bos);
      mark("[INST] ");
      if (i == 0 && system != nullptr)
        with_system(*system, rest[i].content);
      else
        say(trimmed(rest[i].content));
      mark(" [/INST]");
    }
  }

  // Whitespace goes from the end of all of it, which is the system message where the user said nothing.
  void with_system(std::string_view system, std::string_view content) {
    const bool silent = chat_.trims_ && strip(content).empty();
    mark("<<SYS>>\n");
    say(system);
    mark(silent ? "\n<</SYS>>" : "\n<</SYS>>\n\n");
    if (!silent) say(chat_.trims_ ? strip_back(content) : content);
  }

  void mistral(const std::string_view* system, std::span<const ChatMessage> rest) {
    mark(options_.bos);
    if (system != nullptr && chat_.tags_system_) {
      mark("[SYSTEM_PROMPT]");
      say(*system);
      mark("[/SYSTEM_PROMPT]");
      system = nullptr;
    }
    // Where the template looks at the last message only, a system message is lost behind an answer.
    const size_t place = chat_.system_last_ ? rest.size() - 1 : 0;
    for (size_t i = 0; i < rest.size(); ++i) {
      if (i % 2 != 0) {
        mark(chat_.before_answer_);
        say(trimmed(rest[i].content));
        mark(options_.eos);
        mark(chat_.behind_answer_);
        continue;
      }
      mark(chat_.open_);
      if (system != nullptr && i == place) {
        say(*system);
        say("\n\n");
      }
      say(rest[i].content);
      mark(chat_.close_);
    }
  }

  const ChatTemplate& chat_;
  const std::span<const ChatMessage> messages_;
  const ChatOptions& options_;
  const Log& log_;
  std::vector<ChatPart>& parts_;
};

Status ChatTemplate::render(std::span<const ChatMessage> messages, const ChatOptions& options, const Log& log,
                            std::vector<ChatPart>* parts) const {
  if (parts == nullptr) return Status::InvalidArgument;
  return ChatWriter(*this, messages, options, log, parts).write();
}

Status ChatTemplate::render(std::span<const ChatMessage> messages, const ChatOptions& options, const Log& log,
                            std::string* text) const {
  if (text == nullptr) return Status::InvalidArgument;
  std::vector<ChatPart> parts;
  const Status status = render(messages, options, log, &parts);
  if (status != Status::Ok) return status;
  text->clear();
  for (const ChatPart& part : parts) *text += part.text;
  return Status::Ok;
}

std::string_view ChatTemplate::answer_end() const {
  switch (family_) {
    case ChatFamily::ChatMl: return "<|im_end|>";
    case ChatFamily::Llama3: return "<|eot_id|>";
    default: return {};
  }
}

std::vector<TextPart> text_parts(std::span<const ChatPart> parts) {
  std::vector<TextPart> views;
  views.reserve(parts.size());
  for (const ChatPart& part : parts) views.push_back({part.text, part.read_special});
  return views;
}

const char* to_string(ChatFamily family) {
  switch (family) {
    case ChatFamily::ChatMl: return "ChatML";
    case ChatFamily::Llama2: return "Llama 2";
    case ChatFamily::Llama3: return "Llama 3";
    case ChatFamily::Mistral: return "Mistral";
  }
  return "unknown";
}

}  // namespace heed
