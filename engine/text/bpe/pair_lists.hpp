// Interned lists of pairs of numbers: equal lists have the same id.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace heed {

struct NumberPair {
  uint32_t first = 0, second = 0;
  friend auto operator<=>(const NumberPair&, const NumberPair&) = default;
};

class PairLists {
 public:
  PairLists() { id_of({}); }  // the empty list has id 0

  uint32_t id_of(std::span<const NumberPair> list) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (const NumberPair pair : list) hash = ((hash ^ pair.first) * 0x100000001B3u ^ pair.second) * 0x100000001B3u;
    const auto [begin, end] = ids_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (std::ranges::equal((*this)[it->second], list)) return it->second;
    const auto id = static_cast<uint32_t>(begins_.size());
    begins_.push_back(pairs_.size());
    pairs_.insert(pairs_.end(), list.begin(), list.end());
    ids_.emplace(hash, id);
    return id;
  }
  std::span<const NumberPair> operator[](uint32_t id) const {
    const size_t end = id + 1 < begins_.size() ? begins_[id + 1] : pairs_.size();
    return std::span(pairs_).subspan(begins_[id], end - begins_[id]);
  }
  size_t size() const { return begins_.size(); }
  size_t pairs() const { return pairs_.size(); }

 private:
  std::vector<size_t> begins_;
  std::vector<NumberPair> pairs_;
  std::unordered_multimap<uint64_t, uint32_t> ids_;
};

}  // namespace heed
