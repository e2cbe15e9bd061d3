// Checks a vocabulary and makes the tables of a tokenizer.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/logging.hpp"
#include "io/safetensors_header.hpp"
#include "text/bpe/bpe_data.hpp"
#include "text/bpe/byte_alphabet.hpp"

namespace heed {

void BpePairs::set(std::vector<Entry> entries, size_t tokens) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.left != b.left ? a.left < b.left : a.right < b.right;
  });
  begins_.assign(tokens + 1, 0);
  rights_.clear();
  pairs_.clear();
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    if (i > 0 && entries[i - 1].left == entry.left && entries[i - 1].right == entry.right) continue;
    rights_.push_back(entry.right);
    pairs_.push_back(entry.pair);
    ++begins_[static_cast<size_t>(entry.left) + 1];
  }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
}

BpePair BpePairs::find(int32_t left, int32_t right) const {
  if (left < 0 || right < 0) return {};
  const auto first = rights_.begin() + begins_[static_cast<size_t>(left)];
  const auto last = rights_.begin() + begins_[static_cast<size_t>(left) + 1];
  const auto found = std::lower_bound(first, last, right);
  return found == last || *found != right ? BpePair{} : pairs_[static_cast<size_t>(found - rights_.begin())];
}

namespace {

// The byte of a token like "<0x0A>", or -1.
int byte_of_token(std::string_view token) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  const int high = digit(token[3]), low = digit(token[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// A rank that is lower for a higher score. Scores are finite.
uint32_t rank_of(float score) {
  const float positive_zero = score == 0 ? 0.0f : score;
  uint32_t bits = 0;
  static_assert(sizeof(bits) == sizeof(score));
  std::copy_n(reinterpret_cast<const unsigned char*>(&positive_zero), sizeof(bits),
              reinterpret_cast<unsigned char*>(&bits));
  return (bits & 0x80000000u) != 0 ? bits : ~bits & 0x7FFFFFFFu;
}

class Builder {
 public:
  Builder(std::string_view name, const Log& log, Bpe::Data* data)
      : name_(name), log_(log), data_(*data), vocabulary_(data->vocabulary) {}

  Status build() {
    Status status = check();
    if (status == Status::Ok) status = check_tokens();
    if (status != Status::Ok) return status;
    index();
    status = find_special();
    if (status == Status::Ok) status = vocabulary_.merges.empty() ? use_scores() : read_merges();
    if (status == Status::Ok) write_tokens();
    return status;
  }

 private:
  bool byte_level() const { return vocabulary_.kind == BpeKind::ByteLevel; }
  Status invalid(const std::string& what) const { return fail(log_, Status::InvalidFile, name_ + ": " + what); }

  Status check() {
    const size_t count = vocabulary_.tokens.size();
    if (count == 0 || count > Bpe::kMaxTokens)
      return invalid(format("the vocabulary has %zu tokens, must have 1 to %zu", count, Bpe::kMaxTokens));
    if (!vocabulary_.types.empty() && vocabulary_.types.size() != count)
      return invalid(format("%zu types for %zu tokens", vocabulary_.types.size(), count));
    if (!vocabulary_.scores.empty() && vocabulary_.scores.size() != count)
      return invalid(format("%zu scores for %zu tokens", vocabulary_.scores.size(), count));
    if (vocabulary_.merges.size() > Bpe::kMaxTokens)
      return invalid(format("%zu merges, at most %zu are read", vocabulary_.merges.size(), Bpe::kMaxTokens));
    const std::pair<const char*, int32_t> special[] = {
        {"bos", vocabulary_.bos}, {"eos", vocabulary_.eos}, {"unknown", vocabulary_.unknown}};
    for (const auto& [word, id] : special)
      if (id < -1 || (id >= 0 && static_cast<size_t>(id) >= count))
        return invalid(format("the id of %s is %d, the vocabulary has %zu tokens", word, id, count));
    if (!byte_level()) return Status::Ok;
    const std::optional<PreTokenizer> pre = pre_tokenizer_of(vocabulary_.pre);
    if (!pre)
      return fail(log_, Status::Unsupported,
                  format("%s: pre-tokenizer '%s' is not known; gpt-2, smollm, llama-bpe and qwen2 are", name_.c_str(),
                         printable(vocabulary_.pre).c_str()));
    data_.pre = *pre;
    return Status::Ok;
  }

  Status check_tokens() {
    uint64_t bytes = 0;
    for (size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const size_t size = vocabulary_.tokens[i].size();
      bytes += size;
      if (size > Bpe::kMaxTokenBytes)
        return invalid(format("token %zu has %zu bytes, at most %zu are read", i, size, Bpe::kMaxTokenBytes));
    }
    if (bytes > UINT32_MAX) return invalid("the texts of all tokens have more than 4 GiB");
    for (size_t i = 0; i < vocabulary_.types.size(); ++i) {
      const auto type = static_cast<int>(vocabulary_.types[i]);
      if (type < static_cast<int>(TokenType::Normal) || type > static_cast<int>(TokenType::Byte))
        return invalid(format("token %zu is of type %d, must be 1 to 6", i, type));
    }
    for (size_t i = 0; i < vocabulary_.scores.size(); ++i)
      if (!std::isfinite(vocabulary_.scores[i])) return invalid(format("the score of token %zu is not finite", i));
    return Status::Ok;
  }

  void index() {
    const size_t count = vocabulary_.tokens.size();
    data_.ids.reserve(vocabulary_.tokens, count);
    for (size_t i = 0; i < count; ++i)
      if (!vocabulary_.tokens[i].empty()) data_.ids.add(static_cast<int32_t>(i));
    for (unsigned byte = 0; byte < 256; ++byte) {
      const int32_t id =
          data_.find(byte_level() ? letter_of_byte(static_cast<unsigned char>(byte)) : format("<0x%02X>", byte));
      data_.byte_ids[byte] = id >= 0 && is_hidden(data_.type(id)) ? -1 : id;
    }
  }

  Status find_special() {
    for (size_t i = 0; i < vocabulary_.types.size(); ++i) {
      const auto id = static_cast<int32_t>(i);
      const std::string& text = data_.token(id);
      if ((!is_hidden(data_.type(id)) && data_.type(id) != TokenType::UserDefined) || data_.find(text) != id) continue;
      if (text.size() > Bpe::kMaxSpecialBytes)
        return invalid(
            format("special token %zu has %zu bytes, at most %zu are read", i, text.size(), Bpe::kMaxSpecialBytes));
      data_.special.push_back(id);
      ++data_.special_begins[static_cast<unsigned char>(text[0]) + 1u];
    }
    std::sort(data_.special.begin(), data_.special.end(),
              [&](int32_t a, int32_t b) { return data_.token(a) < data_.token(b); });
    std::partial_sum(data_.special_begins.begin(), data_.special_begins.end(), data_.special_begins.begin());
    return Status::Ok;
  }

  Status read_merges() {
    std::vector<BpePairs::Entry> entries;
    entries.reserve(vocabulary_.merges.size());
    std::string both;
    for (size_t i = 0; i < vocabulary_.merges.size(); ++i) {
      const std::string_view merge = vocabulary_.merges[i];
      const size_t space = merge.find(' ', 1);
      if (space == std::string_view::npos || space + 1 == merge.size())
        return invalid(format("merge %zu, '%s', is not two tokens", i, printable(merge).c_str()));
      const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
      both.assign(left).append(right);
      const int32_t ids[] = {data_.find(left), data_.find(right), data_.find(both)};
      const std::string_view texts[] = {left, right, both};
      for (size_t k = 0; k < 3; ++k)
        if (ids[k] < 0)
          return invalid(format("merge %zu, '%s': the vocabulary has no '%s'", i, printable(merge).c_str(),
                                printable(texts[k]).c_str()));
      entries.push_back({ids[0], ids[1], {ids[2], static_cast<uint32_t>(i)}});
    }
    data_.pairs.set(std::move(entries), vocabulary_.tokens.size());
    return Status::Ok;
  }

  // A vocabulary with neither merges nor scores encodes single bytes, or characters.
  Status use_scores() {
    if (byte_level()) {
      data_.pairs.set({}, vocabulary_.tokens.size());
      return Status::Ok;
    }
    const size_t count = vocabulary_.tokens.size();
    data_.merged.reserve(vocabulary_.tokens, count);
    data_.ranks.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<int32_t>(i);
      data_.ranks[i] = vocabulary_.scores.empty() ? 0 : rank_of(vocabulary_.scores[i]);
      const TokenType type = data_.type(id);
      if ((type != TokenType::Normal && type != TokenType::Unused) || data_.token(id).empty()) continue;
      data_.merged.add(id);
      data_.longest_merged = std::max(data_.longest_merged, data_.token(id).size());
    }
    return Status::Ok;
  }

  void write_tokens() {
    data_.written_ends.reserve(vocabulary_.tokens.size());
    for (size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      append_written(vocabulary_.tokens[i], data_.type(static_cast<int32_t>(i)));
      data_.written_ends.push_back(static_cast<uint32_t>(data_.written.size()));
    }
  }

  void append_written(std::string_view token, TokenType type) {
    if (is_hidden(type)) return;
    if (type == TokenType::UserDefined)
      data_.written.append(token);
    else if (byte_level())
      append_bytes_of(token, &data_.written);
    else if (const int byte = byte_of_token(token); type == TokenType::Byte && byte >= 0)
      data_.written.push_back(static_cast<char>(byte));
    else
      append_with_spaces(token);
  }

  void append_with_spaces(std::string_view token) {
    for (size_t mark = token.find(kSpaceMark); mark != std::string_view::npos; mark = token.find(kSpaceMark)) {
      data_.written.append(token.substr(0, mark)).push_back(' ');
      token.remove_prefix(mark + kSpaceMark.size());
    }
    data_.written.append(token);
  }

  const std::string name_;
  const Log& log_;
  Bpe::Data& data_;
  const BpeVocabulary& vocabulary_;
};

}  // namespace

Status Bpe::make(BpeVocabulary vocabulary, std::string_view name, const Log& log, Bpe* bpe) {
  if (bpe == nullptr) return refuse("Bpe::make: bpe is null");
  auto data = std::make_shared<Data>();
  data->vocabulary = std::move(vocabulary);
  const Status status = Builder(name, log, data.get()).build();
  if (status == Status::Ok) bpe->data_ = std::move(data);
  return status;
}

size_t Bpe::size() const { return data_->vocabulary.tokens.size(); }
std::string_view Bpe::token(int32_t id) const { return data_->has(id) ? data_->token(id) : std::string_view(); }
int32_t Bpe::id(std::string_view token) const { return data_->find(token); }
TokenType Bpe::type(int32_t id) const { return data_->has(id) ? data_->type(id) : TokenType::Unused; }
std::string_view Bpe::bytes(int32_t id) const { return data_->has(id) ? data_->bytes(id) : std::string_view(); }
const BpeVocabulary& Bpe::vocabulary() const { return data_->vocabulary; }

}  // namespace heed
