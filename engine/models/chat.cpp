// Recognizes the family and variant of chat templates, and code that all families share for writing.
#include "models/chat.hpp"

#include <algorithm>

#include "base/logging.hpp"
#include "base/space.hpp"
#include "base/utf8.hpp"
#include "io/safetensors_header.hpp"
#include "models/family.hpp"

namespace heed {

namespace models {

bool ChatReader::has_any(std::initializer_list<std::string_view> parts) const {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return has(part); });
}

bool ChatReader::trims() const {
  return has_any({"content'] | trim", "content']|trim", "content\"] | trim", "content\"]|trim", "content | trim",
                  "content|trim", "content.strip()"});
}

Status ChatReader::unknown(const std::string& why) const {
  constexpr size_t kShown = 80;
  std::string begin(jinja_.substr(0, kShown));
  if (jinja_.size() > kShown) begin += "...";
  return fail(log_, Status::Unsupported,
              format("%s: the chat template is not known: %s. It begins with '%s'. %s are known", name_.c_str(),
                     why.c_str(), printable(begin).c_str(), listed(chat_families()).c_str()));
}

std::string ChatReader::other_mark(std::initializer_list<std::string_view> known) const {
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

namespace {

// The text of a literal up to `quote`, with escapes resolved; "" if it is unterminated.
std::string literal(std::string_view rest, char quote) {
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

}  // namespace

std::vector<std::string> ChatReader::literals_from(std::string_view text) const {
  std::vector<std::string> all;
  for (size_t at = jinja_.find(text); at != std::string_view::npos; at = jinja_.find(text, at + 1))
    all.push_back(literal(jinja_.substr(at + text.size()), at == 0 ? ' ' : jinja_[at - 1]));
  return all;
}

std::string ChatReader::literal_behind(std::string_view begin) const {
  for (size_t at = jinja_.find(begin); at != std::string_view::npos; at = jinja_.find(begin, at + 1)) {
    const std::string_view rest = jinja_.substr(at + begin.size());
    const std::string text = rest.empty() ? std::string() : literal(rest.substr(1), rest[0]);
    if (!text.empty()) return text;
  }
  return {};
}

std::string_view ChatWriter::trimmed(std::string_view text) const { return variant.trims ? strip(text) : text; }

Status ChatWriter::refused(const std::string& why) const {
  return fail(log_, Status::InvalidArgument, format("chat (%s): %s", std::string(format_.name).c_str(), why.c_str()));
}

Status find_turns(const ChatWriter& to, Turns* turns) {
  const bool has_system = to.messages[0].role == "system";
  if (has_system) turns->system = &to.messages[0].content;
  turns->rest = to.messages.subspan(has_system ? 1 : 0);
  for (size_t i = 0; i < turns->rest.size(); ++i)
    if (const std::string_view role = turns->rest[i].role; role != (i % 2 == 0 ? "user" : "assistant"))
      return to.refused(format("message %zu is of '%s'; user and assistant must alternate, the user first",
                               i + (has_system ? 1 : 0), printable(role).c_str()));
  return Status::Ok;
}

void ChatWriter::put(std::string_view text, bool read_special) {
  if (text.empty()) return;
  if (parts_.empty() || parts_.back().read_special != read_special) parts_.push_back({{}, read_special});
  parts_.back().text += text;
}

namespace {

bool is_stripped(char32_t c) { return is_space(c) || (c >= 0x1C && c <= 0x1F); }

}  // namespace

std::string_view strip_front(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (!is_stripped(next_code_point(text, &at))) return text.substr(begin);
  }
  return {};
}

std::string_view strip_back(std::string_view text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size();)
    if (!is_stripped(next_code_point(text, &at))) end = at;
  return text.substr(0, end);
}

std::string_view strip_lines(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

}  // namespace models

std::vector<std::string_view> chat_families() {
  std::vector<std::string_view> names;
  for (const models::ChatFormat* format : models::all_chats()) names.push_back(format->name);
  return names;
}

ChatTemplate::ChatTemplate(std::string_view family) : format_(models::find_chat(family)) {
  if (format_ != nullptr && format_->make_plain != nullptr) format_->make_plain(&variant_);
}

std::string_view ChatTemplate::family() const { return format_ != nullptr ? format_->name : ""; }
std::string_view ChatTemplate::answer_end() const { return format_ != nullptr ? format_->answer_end : ""; }

Status ChatTemplate::recognize(std::string_view jinja, std::string_view name, const Log& log, ChatTemplate* chat) {
  if (chat == nullptr) return refuse("ChatTemplate::recognize: chat is null");
  if (jinja.size() > kMaxBytes)
    return fail(log, Status::Unsupported,
                format("%s: the chat template has %zu bytes, at most %zu are read", std::string(name).c_str(),
                       jinja.size(), kMaxBytes));
  models::ChatReader reader(jinja, name, log);
  std::vector<std::string_view> marks;
  for (const models::ChatFormat* format : models::all_chats()) {
    if (!format->is(reader)) {
      if (std::find(marks.begin(), marks.end(), format->mark) == marks.end()) marks.push_back(format->mark);
      continue;
    }
    const Status status = format->read(reader);
    if (status != Status::Ok) return status;
    chat->format_ = format;
    chat->variant_ = std::move(reader.variant);
    return Status::Ok;
  }
  return reader.unknown("it has none of the marks " + models::listed(marks));
}

Status ChatTemplate::render(std::span<const ChatMessage> messages, const ChatOptions& options, const Log& log,
                            std::vector<ChatPart>* parts) const {
  if (parts == nullptr) return refuse("ChatTemplate::render: parts is null");
  if (!valid()) return fail(log, Status::InvalidArgument, "chat: the template is of no family");
  parts->clear();
  models::ChatWriter writer(*format_, variant_, messages, options, log, parts);
  if (messages.empty()) return writer.refused("there is no message");
  for (size_t i = 0; i < messages.size(); ++i)
    if (messages[i].role.empty()) return writer.refused(format("message %zu has no role", i));
  return format_->write(writer);
}

Status ChatTemplate::render(std::span<const ChatMessage> messages, const ChatOptions& options, const Log& log,
                            std::string* text) const {
  if (text == nullptr) return refuse("ChatTemplate::render: text is null");
  std::vector<ChatPart> parts;
  const Status status = render(messages, options, log, &parts);
  if (status != Status::Ok) return status;
  text->clear();
  for (const ChatPart& part : parts) *text += part.text;
  return Status::Ok;
}

std::vector<TextPart> text_parts(std::span<const ChatPart> parts) {
  std::vector<TextPart> views;
  views.reserve(parts.size());
  for (const ChatPart& part : parts) views.push_back({part.text, part.read_special});
  return views;
}

}  // namespace heed
