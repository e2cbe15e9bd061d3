#include "text/bpe/pre_tokenizer.hpp"

#include <algorithm>

#include "text/wordpiece/tokenizer_unicode.hpp"

namespace heed {

namespace {

// Character classes of the rules. A LineEnd is a carriage return or line feed; it counts as whitespace, too.
enum class Char : uint8_t { Letter, Number, Other, Space, LineEnd };

Char kind_of(char32_t c) {
  if (c < 0x80) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return Char::Letter;
    if (c >= '0' && c <= '9') return Char::Number;
    if (c == '\r' || c == '\n') return Char::LineEnd;
    return is_space(c) ? Char::Space : Char::Other;
  }
  if (is_letter(c)) return Char::Letter;
  if (is_number(c)) return Char::Number;
  return is_space(c) ? Char::Space : Char::Other;
}

auto is(Char kind) {
  return [kind](Char other) { return other == kind; };
}

class Scanner {
 public:
  Scanner(std::string_view text, std::vector<uint32_t>* ends) : text_(text), ends_(*ends) {
    begins_.reserve(text.size() + 1);
    kinds_.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
      begins_.push_back(static_cast<uint32_t>(at));
      kinds_.push_back(kind_of(next_code_point(text, &at)));
    }
    begins_.push_back(static_cast<uint32_t>(text.size()));
  }

  // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  void gpt2() {
    end_ = kinds_.size();
    gpt2_words();
  }

  // Each number is a separate word; the text between numbers is split as by gpt2, each stretch on its own.
  void smollm() {
    for (size_t i = 0; i < kinds_.size();) {
      end_ = run(i, kinds_.size(), [](Char k) { return k != Char::Number; });
      at_ = i;
      gpt2_words();
      for (i = end_; i < kinds_.size() && kinds_[i] == Char::Number; ++i) take(i + 1);
    }
  }

  // (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,most}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  void llama3(size_t most_numbers) {
    end_ = kinds_.size();
    while (at_ < end_) {
      if (take_suffix(true)) continue;
      const bool letter_follows = at_ + 1 < end_ && kinds_[at_ + 1] == Char::Letter;
      const Char kind = kinds_[at_];
      if (kind == Char::Letter || (letter_follows && (kind == Char::Space || kind == Char::Other)))
        take(run(at_ + 1, end_, is(Char::Letter)));
      else if (kind == Char::Number)
        take(run(at_, std::min(end_, at_ + most_numbers), is(Char::Number)));
      else if (!take_signs_and_lines())
        take_space_or_lines();
    }
  }

 private:
  static bool is_white(Char kind) { return kind == Char::Space || kind == Char::LineEnd; }

  // The first index from `i` on, or `end`, for which `test` is false.
  template <class Test>
  size_t run(size_t i, size_t end, Test test) const {
    while (i < end && test(kinds_[i])) ++i;
    return i;
  }

  void take(size_t end) {
    ends_.push_back(begins_[end]);
    at_ = end;
  }

  char byte_at(size_t i) const { return text_[begins_[i]]; }

  void gpt2_words() {
    while (at_ < end_) {
      if (take_suffix(false)) continue;
      const size_t first = at_ + (byte_at(at_) == ' ' ? 1 : 0);
      if (first < end_ && !is_white(kinds_[first]))
        take(run(first, end_, is(kinds_[first])));
      else
        take_space();
    }
  }

  // Matches an apostrophe with one of these endings of English words.
  bool take_suffix(bool any_case) {
    if (byte_at(at_) != '\'') return false;
    const auto letter = [&](size_t i) {
      if (i >= end_) return '\0';
      const char c = byte_at(i);
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    };
    const char first = letter(at_ + 1), second = letter(at_ + 2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') {
      take(at_ + 2);
      return true;
    }
    if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')) {
      take(at_ + 3);
      return true;
    }
    return false;
  }

  bool take_signs_and_lines() {
    const size_t first = at_ + (byte_at(at_) == ' ' ? 1 : 0);
    const size_t end = run(first, end_, is(Char::Other));
    if (end == first) return false;
    take(run(end, end_, is(Char::LineEnd)));
    return true;
  }

  // Matches whitespace up to its last line end, if it has one.
  void take_space_or_lines() {
    const size_t end = run(at_, end_, is_white);
    size_t last = end;
    while (last > at_ && kinds_[last - 1] != Char::LineEnd) --last;
    if (last > at_)
      take(last);
    else
      take_space();
  }

  // Matches whitespace. Its last character is left to the next word, unless it is the only one.
  void take_space() {
    const size_t end = run(at_, end_, is_white);
    take(end == end_ || end - at_ == 1 ? end : end - 1);
  }

  std::string_view text_;
  std::vector<uint32_t>& ends_;
  std::vector<uint32_t> begins_;  // byte offset of each code point, and of the end of the text
  std::vector<Char> kinds_;
  size_t at_ = 0, end_ = 0;
};

}  // namespace

std::optional<PreTokenizer> pre_tokenizer_of(std::string_view name) {
  if (name == "gpt-2") return PreTokenizer::Gpt2;
  if (name == "smollm") return PreTokenizer::SmolLm;
  if (name == "llama-bpe" || name == "llama-v3" || name == "llama3") return PreTokenizer::Llama3;
  if (name == "qwen2" || name == "deepseek-r1-qwen") return PreTokenizer::Qwen2;
  return std::nullopt;
}

void split_words(PreTokenizer rule, std::string_view text, std::vector<uint32_t>* ends) {
  ends->clear();
  Scanner scanner(text, ends);
  switch (rule) {
    case PreTokenizer::Gpt2: return scanner.gpt2();
    case PreTokenizer::SmolLm: return scanner.smollm();
    case PreTokenizer::Llama3: return scanner.llama3(3);
    case PreTokenizer::Qwen2: return scanner.llama3(1);
  }
}

}  // namespace heed
