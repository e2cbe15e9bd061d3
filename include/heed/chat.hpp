// Chat templates write a conversation as the text that a model reads. A model's file holds its template as a Jinja program
// (tokenizer.chat_template). heed does not run it: it recognizes the families below by typical strings in the template and writes the same
// text.
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

namespace models {
struct ChatFormat;  // private to the implementation
}

// The families of chat templates that heed knows, by the names that ChatTemplate takes. Each is described in a file of engine/models:
//   ChatML    SmolLM 2, Qwen 2, 2.5 and 3: <|im_start|>role, content<|im_end|>
//   Gemma     <start_of_turn>role, content<end_of_turn>; the assistant is "model", and a system message begins the user's first
//   Llama 2   <s>[INST] <<SYS>> ... [/INST] answer </s>
//   Llama 3   <|start_header_id|>role<|end_header_id|>, content<|eot_id|>; 3.1 and later with dates
//   Mistral   [INST] ... [/INST] answer</s>, with or without spaces, and [SYSTEM_PROMPT]
HEED_API std::vector<std::string_view> chat_families();

// One message in UTF-8. Roles are "system", which must be the first message, "user" and "assistant". ChatML and Llama 3 allow any other
// role, too.
struct ChatMessage {
  std::string_view role, content;  // the speaker and the text
};

// How ChatTemplate::render writes messages.
struct ChatOptions {
  bool generation_prompt = true;        // end with the text that begins an answer, in families that have one
  std::string_view bos = {}, eos = {};  // the texts of these tokens; ChatML needs neither
  std::string_view date = {};           // date for Llama 3.1 and later, as "26 Jul 2024"; "": the template's default
  bool think = true;                    // false: Qwen 3 answers without thinking
};

// A piece of the text. Special tokens are read only in pieces that the template wrote, never in the content of a message.
struct ChatPart {
  std::string text;
  bool read_special = false;  // see TextPart
};

// Views for Bpe::encode. They are valid while `parts` is.
HEED_API std::vector<TextPart> text_parts(std::span<const ChatPart> parts);

// A family of chat templates and its variant: writes messages as the text that a model was trained with. A plain value.
class HEED_API ChatTemplate {
 public:
  // Longer templates are InvalidFile.
  static constexpr size_t kMaxBytes = 1u << 20;

  // The family's plain form, without a default system message. valid() is false if `family` is not one of chat_families().
  explicit ChatTemplate(std::string_view family = "ChatML");
  bool valid() const { return format_ != nullptr; }
  // Finds the family and its variant by typical strings in the template `jinja`; `name` stands for the file in messages. Unsupported:
  // another family; the message names the string that told. On failure *chat is unchanged.
  static Status recognize(std::string_view jinja, std::string_view name, const Log& log, ChatTemplate* chat);

  // Sets *parts, or *text to the concatenation of all parts: byte for byte what the template gives for messages with these roles.
  // InvalidArgument: not valid(); no message; an empty role; messages of user and assistant that do not alternate (Gemma, Llama 2 and
  // Mistral); no system message where the template would insert its own.
  Status render(std::span<const ChatMessage> messages, const ChatOptions& options, const Log& log,
                std::vector<ChatPart>* parts) const;
  Status render(std::span<const ChatMessage> messages, const ChatOptions& options, const Log& log,
                std::string* text) const;

  // One of chat_families().
  std::string_view family() const;
  // The system message that the template inserts if none is given; "": none.
  const std::string& default_system() const { return variant_.default_system; }
  // The text of the token that ends an answer; "" stands for the model's eos.
  std::string_view answer_end() const;

  // How the templates of a family differ; private to the implementation.
  struct Variant {
    std::string default_system = {};
    bool always_prompts = false;                         // adds a generation prompt whatever ChatOptions says
    bool trims = false;                                  // strips whitespace around messages
    bool thinks = false;                                 // ChatML: earlier answers lose their thoughts (Qwen 3)
    std::string date = {}, knowledge = {};               // Llama 3: the dates of its system message
    bool needs_system = false;                           // Mistral: the template needs a system message
    bool tags_system = false;                            // Mistral: wraps the system message in [SYSTEM_PROMPT]
    bool system_last = false;                            // Mistral: the system message goes into the user's last
                                                         // message
    std::string open = {}, close = {};                   // Mistral: the text around the user's message
    std::string before_answer = {}, behind_answer = {};  // Mistral: the text before and after an answer, besides eos
  };

 private:
  const models::ChatFormat* format_ = nullptr;
  Variant variant_;
};

}  // namespace heed
