// Decodes ids to text, all at once or one by one.
#include <utility>

#include "base/logging.hpp"
#include "text/bpe/bpe_data.hpp"
#include "text/wordpiece/tokenizer_unicode.hpp"

namespace heed {

namespace {

// Appends the bytes of token `id`. *at_start: whether the encoder put a space before the next text, which must be removed.
void append_token(const Bpe::Data& data, int32_t id, bool show_special, bool* at_start, std::string* text) {
  const TokenType type = data.type(id);
  if (is_hidden(type) && show_special) text->append(data.token(id));
  std::string_view bytes = data.bytes(id);
  const bool plain = !is_hidden(type) && type != TokenType::UserDefined;
  if (plain && *at_start && data.vocabulary.space_prefix && bytes.starts_with(' ')) bytes.remove_prefix(1);
  if (plain)
    *at_start = *at_start && data.token(id).empty();
  else if (!data.vocabulary.space_once)
    *at_start = true;
  text->append(bytes);
}

// Moves whole characters from `pending` to `text`, and U+FFFD for bytes that are not part of one.
void move_characters(size_t count, std::string* pending, std::string* text) {
  std::string_view whole = std::string_view(*pending).substr(0, count);
  for (size_t at = 0; at < whole.size();) append_utf8(next_code_point(whole, &at), text);
  pending->erase(0, count);
}

}  // namespace

Status Bpe::decode(std::span<const int32_t> ids, const DecodeOptions& options, std::string* text) const {
  if (data_ == nullptr || text == nullptr) return refuse("Bpe::decode: the tokenizer is empty, or text is null");
  text->clear();
  bool at_start = options.begins_text;
  for (const int32_t id : ids) {
    if (!data_->has(id)) return Status::IndexOutOfRange;
    append_token(*data_, id, options.show_special, &at_start, text);
  }
  return Status::Ok;
}

BpeStream::BpeStream(Bpe bpe, const DecodeOptions& options)
    : bpe_(std::move(bpe)), options_(options), at_start_(options.begins_text) {}

Status BpeStream::add(int32_t id, std::string* text) {
  if (!bpe_.valid() || text == nullptr) return refuse("BpeStream::add: the tokenizer is empty, or text is null");
  if (!bpe_.data().has(id)) return Status::IndexOutOfRange;
  append_token(bpe_.data(), id, options_.show_special, &at_start_, &pending_);
  move_characters(whole_characters(pending_), &pending_, text);
  return Status::Ok;
}

void BpeStream::finish(std::string* text) {
  move_characters(pending_.size(), &pending_, text);
  at_start_ = true;
}

}  // namespace heed
