// A hash table from texts of tokens to ids. It stores only ids, since a tokenizer may have hundreds of thousands of tokens.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

class TokenTable {
 public:
  // Reserves room for `count` tokens of `texts`, which must outlive this.
  void reserve(const std::vector<std::string>& texts, size_t count) {
    texts_ = &texts;
    slots_.assign(std::bit_ceil(std::max<size_t>(2 * count, 2)), -1);
  }
  // Of tokens with equal text the last one counts.
  void add(int32_t id) { slots_[place_of((*texts_)[static_cast<size_t>(id)])] = id; }
  // -1: there is none.
  int32_t find(std::string_view text) const { return slots_.empty() ? -1 : slots_[place_of(text)]; }

 private:
  // The slot that holds the text, or the free slot where it would be.
  size_t place_of(std::string_view text) const {
    const size_t last = slots_.size() - 1;
    size_t at = std::hash<std::string_view>()(text) & last;
    while (slots_[at] >= 0 && (*texts_)[static_cast<size_t>(slots_[at])] != text) at = (at + 1) & last;
    return at;
  }

  const std::vector<std::string>* texts_ = nullptr;
  std::vector<int32_t> slots_;  // at most half of them used
};

}  // namespace heed
