// Chat templates: what a model reads of a conversation. A model's file holds its template as a program in Jinja
// (tokenizer.chat_template); heed runs no such programs, but knows the families below by their marks and writes the same text.
//
//   heed::ChatTemplate chat;
//   heed::Status s = heed::ChatTemplate::recognize(jinja, "model.gguf", heed::stderr_log(), &chat);
//   const heed::ChatMessage messages[] = {{"system", "You are a grumpy blacksmith."}, {"user", line_of_player}};
//   std::vector<heed::ChatPart> parts;
//   s = chat.render(messages, {.bos = "<s>", .eos = "</s>"}, heed::stderr_log(), &parts);
//   s = bpe.encode(heed::text_parts(parts), false, &ids);   // what the player wrote cannot end the turn
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/bpe.hpp>
#include <heed/export.hpp>
#include <heed/status.hpp>

namespace heed {

enum class ChatFamily : uint8_t {
  ChatMl,   // SmolLM 2, Qwen 2, 2.5 and 3: <|im_start|>role, content<|im_end|>
  Llama2,   // <s>[INST] <<SYS>> ... [/INST] answer </s>
  Llama3,   // <|start_header_id|>role<|end_header_id|>, content<|eot_id|>; 3.1 and later with dates
  Mistral,  // [INST] ... [/INST] answer</s>, with or without spaces, and [SYSTEM_PROMPT]
};
HEED_API const char* to_string(ChatFamily family);

// UTF-8. Roles are "system", which must be the first message, "user" and "assistant". ChatMl and Llama3 take any others, too.
struct ChatMessage {
  std::string_view role, content;
};

struct ChatOptions {
  bool generation_prompt = true;        // end with what begins an answer, where the family has such a thing
  std::string_view bos = {}, eos = {};  // the texts of these tokens; ChatMl needs neither
  std::string_view date = {};           // of Llama 3.1 and later, as "26 Jul 2024"; "": the one that the template has
  bool think = true;                    // false: Qwen 3 answers without thinking
};

// A piece of the text. Special tokens are read in what the template wrote, never in what a message holds.
struct ChatPart {
  std::string text;
  bool read_special = false;
};

// Views, for Bpe::encode. They live as long as the parts.
HEED_API std::vector<TextPart> text_parts(std::span<const ChatPart> parts);

class HEED_API ChatTemplate {
 public:
  static constexpr size_t kMaxBytes = 1u << 20;

  // The family's plain form, without a default system message.
  explicit ChatTemplate(ChatFamily family = ChatFamily::ChatMl);
  // Finds the family and its variant by the marks of the template `jinja`; `name` stands for the file in messages.
  // Unsupported: another family; the message tells by which mark. On failure *chat is unchanged.
  static Status recognize(std::string_view jinja, std::string_view name, const Log& log, ChatTemplate* chat);

  // Sets *parts, or *text to all of them together: byte for byte what the template gives for messages with these roles.
  // InvalidArgument: no message; an empty role; in Llama2 and Mistral, messages of user and assistant that do not
  // alternate; no system message where the template would make one up.
  Status render(std::span<const ChatMessage> messages, const ChatOptions& options, const Log& log,
                std::vector<ChatPart>* parts) const;
  Status render(std::span<const ChatMessage> messages, const ChatOptions& options, const Log& log,
                std::string* text) const;

  ChatFamily family() const { return family_; }
  // What the template says where no system message is given; "" for nothing.
  const std::string& default_system() const { return default_system_; }
  // The text of the token that ends an answer; "" stands for the model's eos.
  std::string_view answer_end() const;

 private:
  friend class ChatReader;
  friend class ChatWriter;
  ChatFamily family_;
  std::string default_system_;
  bool always_prompts_ = false;                // a generation prompt, whatever is asked for
  bool trims_ = false;                         // whitespace around messages
  bool thinks_ = false;                        // ChatMl: earlier answers lose their thoughts (Qwen 3)
  std::string date_, knowledge_;               // Llama3: the dates of its system message
  bool needs_system_ = false;                  // Mistral
  bool tags_system_ = false;                   // Mistral: [SYSTEM_PROMPT]
  bool system_last_ = false;                   // Mistral: it goes into the last message of the user
  std::string open_, close_;                   // Mistral: around what the user says
  std::string before_answer_, behind_answer_;  // Mistral: beside eos
};

}  // namespace heed
