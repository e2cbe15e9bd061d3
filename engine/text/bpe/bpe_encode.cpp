// Encodes text to ids: finds special tokens, and splits and merges the text between them.
#include <algorithm>

#include "base/logging.hpp"
#include "text/bpe/bpe_data.hpp"
#include "text/wordpiece/tokenizer_unicode.hpp"

namespace heed {

namespace {

class Encoder {
 public:
  Encoder(const Bpe::Data& data, std::vector<int32_t>* ids) : data_(data), ids_(*ids) {}

  // Adds text without special tokens.
  void add(std::string_view text) {
    if (text.empty()) return;
    if (data_.vocabulary.compose) {
      composed_.assign(text);
      compose(&composed_);
      text = composed_;
    }
    if (data_.vocabulary.kind == BpeKind::ByteLevel)
      add_words(text);
    else
      add_pieces(text);
    takes_space_ = false;
  }

  // Adds a special token that is not spelled out in the text.
  void add_around(int32_t id) { ids_.push_back(id); }
  // Adds a special token that is spelled out in the text.
  void add_special(int32_t id) {
    ids_.push_back(id);
    takes_space_ = !data_.vocabulary.space_once;
  }

  size_t lost() const { return lost_; }

 private:
  void add_words(std::string_view text) {
    split_words(data_.pre, text, &ends_);
    uint32_t begin = 0;
    for (const uint32_t end : ends_) {
      add_word(text.substr(begin, end - begin));
      begin = end;
    }
  }

  void add_word(std::string_view word) {
    if (data_.vocabulary.whole_words && add_whole(word)) return;
    merger_.clear();
    for (size_t i = 0; i < word.size(); ++i)
      merger_.add(static_cast<uint32_t>(i), 1, data_.byte_ids[static_cast<unsigned char>(word[i])]);
    merge(word);
    merger_.each([&](const BpePiece& piece) { push(piece.id, piece.size); });
  }

  bool add_whole(std::string_view word) {
    if (word.size() > Bpe::kMaxTokenBytes) return false;
    letters_.clear();
    for (const char byte : word) {
      const int32_t id = data_.byte_ids[static_cast<unsigned char>(byte)];
      if (id < 0) return false;
      letters_ += data_.token(id);
    }
    const int32_t id = data_.find(letters_);
    if (id < 0 || is_hidden(data_.type(id))) return false;
    ids_.push_back(id);
    return true;
  }

  // SentencePiece: the whole text is one word.
  void add_pieces(std::string_view text) {
    marked_.clear();
    if (data_.vocabulary.space_prefix && takes_space_) marked_ += kSpaceMark;
    for (const char byte : text)
      if (byte == ' ')
        marked_ += kSpaceMark;
      else
        marked_ += byte;
    merger_.clear();
    for (size_t at = 0; at < marked_.size();) {
      const size_t begin = at;
      next_code_point(marked_, &at);
      const std::string_view character = std::string_view(marked_).substr(begin, at - begin);
      merger_.add(static_cast<uint32_t>(begin), static_cast<uint32_t>(character.size()), piece_id(character));
    }
    merge(marked_);
    merger_.each([&](const BpePiece& piece) {
      if (piece.id >= 0)
        ids_.push_back(piece.id);
      else
        for (uint32_t i = 0; i < piece.size; ++i)
          push(data_.byte_ids[static_cast<unsigned char>(marked_[piece.begin + i])], 1);
    });
  }

  int32_t piece_id(std::string_view text) const {
    if (!data_.pairs.empty()) {
      const int32_t id = data_.find(text);
      return id >= 0 && is_hidden(data_.type(id)) ? -1 : id;
    }
    return data_.merged.find(text);
  }

  void merge(std::string_view text) {
    if (data_.vocabulary.kind == BpeKind::ByteLevel || !data_.pairs.empty())
      return merger_.merge([&](const BpePiece& a, const BpePiece& b) { return data_.pairs.find(a.id, b.id); });
    merger_.merge([&](const BpePiece& a, const BpePiece& b) -> BpePair {
      if (a.size + b.size > data_.longest_merged) return {};
      const int32_t id = data_.merged.find(text.substr(a.begin, a.size + b.size));
      return id < 0 ? BpePair{} : BpePair{id, data_.ranks[static_cast<size_t>(id)]};
    });
  }

  // If a byte has no token, SentencePiece uses the unknown token; byte-level models skip the byte, as llama.cpp does.
  void push(int32_t id, size_t bytes) {
    if (id < 0) {
      lost_ += bytes;
      if (data_.vocabulary.kind == BpeKind::SentencePiece) id = data_.vocabulary.unknown;
    }
    if (id >= 0) ids_.push_back(id);
  }

  const Bpe::Data& data_;
  std::vector<int32_t>& ids_;
  BpeMerger merger_;
  std::vector<uint32_t> ends_;
  std::string composed_, letters_, marked_;
  bool takes_space_ = true;  // whether a space goes before the next text
  size_t lost_ = 0;
};

// The longest special token at the beginning of `text`, or -1.
int32_t special_at(const Bpe::Data& data, std::string_view text, bool read_special) {
  const auto lead = static_cast<unsigned char>(text[0]);
  auto first = data.special.begin() + data.special_begins[lead];
  auto last = data.special.begin() + data.special_begins[lead + 1u];
  int32_t best = -1;
  for (size_t depth = 1; first != last; ++depth) {
    // All tokens of the range begin with the same `depth` bytes; if one ends there, it is the first.
    if (data.token(*first).size() == depth) {
      if (read_special || !is_hidden(data.type(*first))) best = *first;
      ++first;
    }
    if (first == last || depth == text.size()) break;
    const auto wanted = static_cast<unsigned char>(text[depth]);
    const auto byte = [&](int32_t id) { return static_cast<unsigned char>(data.token(id)[depth]); };
    first = std::lower_bound(first, last, wanted, [&](int32_t id, unsigned char c) { return byte(id) < c; });
    last = std::upper_bound(first, last, wanted, [&](unsigned char c, int32_t id) { return c < byte(id); });
  }
  return best;
}

}  // namespace

Status Bpe::encode(std::string_view text, const BpeOptions& options, std::vector<int32_t>* ids, size_t* lost) const {
  const TextPart part = {text, options.read_special};
  return encode(std::span(&part, 1), options.add_special, ids, lost);
}

Status Bpe::encode(std::span<const TextPart> parts, bool add_special, std::vector<int32_t>* ids, size_t* lost) const {
  if (data_ == nullptr || ids == nullptr) return refuse("Bpe::encode: the tokenizer is empty, or ids is null");
  size_t size = 0;
  for (const TextPart& part : parts) {
    if (part.text.size() > kMaxTextBytes - size)
      return refuse(
          format("Bpe::encode: the text has more than %zu bytes", static_cast<size_t>(kMaxTextBytes)).c_str());
    size += part.text.size();
  }
  const BpeVocabulary& vocabulary = data_->vocabulary;
  ids->clear();
  Encoder encoder(*data_, ids);
  if (add_special && vocabulary.add_bos && vocabulary.bos >= 0) encoder.add_around(vocabulary.bos);
  std::string across;  // the rest of earlier parts, to be encoded with the next
  for (const TextPart& part : parts) {
    size_t begin = 0;
    for (size_t i = 0; i < part.text.size();) {
      const int32_t id = special_at(*data_, part.text.substr(i), part.read_special);
      if (id < 0) {
        ++i;
        continue;
      }
      encoder.add(across.append(part.text.substr(begin, i - begin)));
      across.clear();
      encoder.add_special(id);
      begin = i += data_->token(id).size();
    }
    across.append(part.text.substr(begin));
  }
  encoder.add(across);
  if (add_special && vocabulary.add_eos && vocabulary.eos >= 0) encoder.add_around(vocabulary.eos);
  if (lost != nullptr) *lost = encoder.lost();
  return Status::Ok;
}

}  // namespace heed
