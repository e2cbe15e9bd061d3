// Encodes text to ids: cleans it, splits it into words, and takes the longest matching pieces first (Wu et al. 2016, arXiv:1609.08144, and
// BERT's rules).
#include <heed/tokenizer.hpp>

#include <algorithm>

#include "text/wordpiece/tokenizer_data.hpp"
#include "text/wordpiece/tokenizer_unicode.hpp"

namespace heed {

namespace {

using Ids = std::vector<int32_t>;

// Applies all rules that change characters.
std::u32string normalize(std::string_view text, const WordPiece::Data& data) {
  const WordPieceOptions& options = data.options;
  std::u32string decoded, out;
  decoded.reserve(text.size());
  decode_utf8(text, &decoded);
  out.reserve(decoded.size());
  for (char32_t c : decoded) {
    if (options.clean && is_dropped(c)) continue;
    if (options.clean && is_space(c)) c = ' ';
    const bool apart = options.cjk_spacing && is_cjk_ideograph(c);
    if (apart) out.push_back(' ');
    out.push_back(c);
    if (apart) out.push_back(' ');
  }
  if (data.strips_accents) strip_accents(&out);
  if (options.lowercase) to_lower(&out);
  return out;
}

// Splits one word into pieces.
class Pieces {
 public:
  Pieces(const WordPiece::Data& data, Ids* out) : data_(data), out_(*out) {}

  void add(std::u32string_view word) {
    const size_t before = out_.size();
    if (word.size() <= static_cast<size_t>(data_.options.max_word) && split(word)) return;
    out_.resize(before);
    out_.push_back(data_.unknown);
  }

 private:
  bool split(std::u32string_view word) {
    text_.clear();
    starts_.clear();
    for (char32_t c : word) {
      starts_.push_back(text_.size());
      append_utf8(c, &text_);
    }
    starts_.push_back(text_.size());
    size_t begin = 0;
    while (begin < word.size()) {
      const size_t end = longest(begin, word.size());
      if (end == begin) return false;
      begin = end;
    }
    return true;
  }

  // The end of the longest piece from `begin` on, whose id is appended; `begin` if there is none.
  size_t longest(size_t begin, size_t length) {
    Range range = {0, data_.sorted.size()};
    size_t depth = 0, best = begin;
    int32_t id = -1;
    if (begin > 0)
      for (const char c : data_.options.prefix) narrow(&range, depth++, c);
    for (size_t end = begin + 1; end <= length && range.first < range.last; ++end) {
      for (size_t at = starts_[end - 1]; at < starts_[end]; ++at) narrow(&range, depth++, text_[at]);
      if (range.first == range.last || token(range.first).size() != depth) continue;
      best = end;
      id = data_.sorted[range.first];
    }
    if (id >= 0) out_.push_back(id);
    return best;
  }

  // Sorted tokens that begin with the same `depth` bytes. A token that ends there is the first one.
  struct Range {
    size_t first, last;
  };
  // Narrows the range to tokens that continue with `c`.
  void narrow(Range* range, size_t depth, char c) const {
    const auto begin = data_.sorted.begin();
    const auto byte = [&](int32_t id) {
      const std::string& text = data_.tokens[static_cast<size_t>(id)];
      return depth < text.size() ? static_cast<int>(static_cast<unsigned char>(text[depth])) : -1;
    };
    const auto wanted = static_cast<int>(static_cast<unsigned char>(c));
    const auto less = [&](int32_t id, int value) { return byte(id) < value; };
    const auto first = std::lower_bound(begin + static_cast<ptrdiff_t>(range->first),
                                        begin + static_cast<ptrdiff_t>(range->last), wanted, less);
    const auto last = std::lower_bound(first, begin + static_cast<ptrdiff_t>(range->last), wanted + 1, less);
    *range = {static_cast<size_t>(first - begin), static_cast<size_t>(last - begin)};
  }
  const std::string& token(size_t place) const { return data_.tokens[static_cast<size_t>(data_.sorted[place])]; }

  const WordPiece::Data& data_;
  Ids& out_;
  std::string text_;
  std::vector<size_t> starts_;  // byte offset of each code point, and the end
};

}  // namespace

bool WordPiece::Data::encode_plain(std::string_view text, size_t most, Ids* out) const {
  const std::u32string normal = normalize(text, *this);
  const std::u32string_view all = normal;
  const size_t limit = out->size() + most;
  Pieces pieces(*this, out);
  size_t begin = 0;
  for (size_t i = 0; i <= all.size() && out->size() <= limit; ++i) {
    const bool end = i == all.size() || is_space(all[i]);
    const bool sign = !end && is_punctuation(all[i]);
    if (!end && !sign) continue;
    if (i > begin) pieces.add(all.substr(begin, i - begin));
    if (sign) pieces.add(all.substr(i, 1));
    begin = i + 1;
  }
  if (out->size() <= limit) return true;
  out->resize(limit);
  return false;
}

namespace {

// The longest special token at `at` in the raw text, or -1.
int32_t special_at(const WordPiece::Data& data, std::string_view text, size_t at) {
  for (int32_t id : data.special)
    if (text.substr(at).starts_with(data.tokens[static_cast<size_t>(id)])) return id;
  return -1;
}

}  // namespace

bool WordPiece::encode(std::string_view text, size_t max_tokens, Ids* ids) const {
  ids->clear();
  if (data_ == nullptr) return text.empty();
  const size_t most = std::max<size_t>(max_tokens, 2) - 1;  // with cls, without sep
  ids->push_back(data_->cls);
  bool whole = true;
  size_t begin = 0;
  const auto take = [&](size_t end) {
    if (end > begin && whole) whole = data_->encode_plain(text.substr(begin, end - begin), most - ids->size(), ids);
  };
  for (size_t i = 0; i < text.size() && whole; ++i) {
    const int32_t id = special_at(*data_, text, i);
    if (id < 0) continue;
    take(i);
    begin = i + data_->tokens[static_cast<size_t>(id)].size();
    i = begin - 1;
    if (!whole || ids->size() == most)
      whole = false;
    else
      ids->push_back(id);
  }
  take(text.size());
  ids->push_back(data_->sep);
  return whole;
}

size_t WordPiece::size() const { return data_->tokens.size(); }
std::string_view WordPiece::token(int32_t id) const {
  return id < 0 || static_cast<size_t>(id) >= size() ? std::string_view() : data_->tokens[static_cast<size_t>(id)];
}
int32_t WordPiece::id(std::string_view token) const { return data_->find(token); }
int32_t WordPiece::pad_id() const { return data_->pad; }
int32_t WordPiece::unknown_id() const { return data_->unknown; }

}  // namespace heed
