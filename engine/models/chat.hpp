// How a family of chat templates writes conversations. A family's file describes it, as `extern constinit const ChatFormat NAME`; the build
// collects them.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/chat.hpp>

namespace heed::models {

class ChatReader;
class ChatWriter;

using ChatVariant = ChatTemplate::Variant;

struct ChatFormat {
  std::string_view name;                               // ChatTemplate::family
  std::string_view mark;                               // a string in its templates, for messages
  std::string_view answer_end = {};                    // the text of the token that ends an answer; "": the model's eos
  void (*make_plain)(ChatVariant* variant) = nullptr;  // for a ChatTemplate made by the family's name
  bool (*is)(const ChatReader& from) = nullptr;        // whether a template belongs to the family
  Status (*read)(ChatReader& from) = nullptr;          // finds the variant
  Status (*write)(ChatWriter& to) = nullptr;
};

// Sorted by name; templates are tried in this order.
std::span<const ChatFormat* const> all_chats();
const ChatFormat* find_chat(std::string_view name);

// A model's chat template, a program in Jinja, of which only typical strings and literals are examined.
class ChatReader {
 public:
  ChatReader(std::string_view jinja, std::string_view name, const Log& log) : jinja_(jinja), name_(name), log_(log) {}

  bool has(std::string_view part) const { return jinja_.find(part) != std::string_view::npos; }
  bool has_any(std::initializer_list<std::string_view> parts) const;
  // Whether `text` is a complete literal, in either kind of quotes.
  bool has_literal(const std::string& text) const { return has("'" + text + "'") || has('"' + text + '"'); }
  bool trims() const;
  // The first mark <|...|> that begins with none of `known`, or "".
  std::string other_mark(std::initializer_list<std::string_view> known) const;
  // For each literal that begins with `text`, the rest of it, with escapes resolved; "" for an unterminated one.
  std::vector<std::string> literals_from(std::string_view text) const;
  // The first literal after the text `begin`, or "".
  std::string literal_behind(std::string_view begin) const;
  Status unknown(const std::string& why) const;

  ChatVariant variant = {};

 private:
  const std::string_view jinja_;
  const std::string name_;
  const Log& log_;
};

class ChatWriter {
 public:
  ChatWriter(const ChatFormat& format, const ChatVariant& chosen, std::span<const ChatMessage> all,
             const ChatOptions& asked, const Log& log, std::vector<ChatPart>* parts)
      : variant(chosen), messages(all), options(asked), format_(format), log_(log), parts_(*parts) {}

  void mark(std::string_view text) { put(text, true); }  // text of the template
  void say(std::string_view text) { put(text, false); }  // text of a message
  std::string_view trimmed(std::string_view text) const;
  bool prompts() const { return options.generation_prompt || variant.always_prompts; }
  Status refused(const std::string& why) const;

  const ChatVariant& variant;
  const std::span<const ChatMessage> messages;  // at least one; each has a role
  const ChatOptions& options;

 private:
  void put(std::string_view text, bool read_special);

  const ChatFormat& format_;
  const Log& log_;
  std::vector<ChatPart>& parts_;
};

// A conversation in which user and assistant alternate.
struct Turns {
  const std::string_view* system = nullptr;
  std::span<const ChatMessage> rest = {};
};

// InvalidArgument, with the number of the message, if they do not.
Status find_turns(const ChatWriter& to, Turns* turns);

// Removes whitespace like Python's str.strip, which templates call.
std::string_view strip_front(std::string_view text);
std::string_view strip_back(std::string_view text);
inline std::string_view strip(std::string_view text) { return strip_back(strip_front(text)); }
std::string_view strip_lines(std::string_view text);

}  // namespace heed::models
