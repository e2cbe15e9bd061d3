// Byte pair merging: repeatedly merges the neighbouring pair of lowest rank, the leftmost of equal ones, until no neighbours form a pair. A
// heap of pairs makes this O(n log n) in the length of a word.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heed {

// A piece of the text during merging.
struct BpePiece {
  uint32_t begin = 0, size = 0;  // byte range in the text; size 0: merged into the piece before
  int32_t id = -1;               // its token, or -1
  int32_t before = -1, behind = -1;
};

// The result of merging two neighbours.
struct BpePair {
  int32_t id = -1;  // -1: they do not form a pair
  uint32_t rank = 0;
};

class BpeMerger {
 public:
  // Starts a new text. Pieces are added in order.
  void clear() { pieces_.clear(); }
  void add(uint32_t begin, uint32_t size, int32_t id) {
    const auto at = static_cast<int32_t>(pieces_.size());
    if (at > 0) pieces_.back().behind = at;
    pieces_.push_back({begin, size, id, at - 1, -1});
  }

  // `find(left, right)` returns the BpePair of two pieces.
  template <class Find>
  void merge(Find find) {
    heap_.clear();
    for (size_t i = 0; i + 1 < pieces_.size(); ++i) push(static_cast<int32_t>(i), find);
    std::make_heap(heap_.begin(), heap_.end(), later);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      const Candidate best = heap_.back();
      heap_.pop_back();
      if (!join(best)) continue;
      const BpePiece& joined = pieces_[static_cast<size_t>(best.left)];
      if (joined.before >= 0 && push(joined.before, find)) std::push_heap(heap_.begin(), heap_.end(), later);
      if (joined.behind >= 0 && push(best.left, find)) std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }

  template <class Visit>
  void each(Visit visit) const {
    for (int32_t at = pieces_.empty() ? -1 : 0; at >= 0; at = pieces_[static_cast<size_t>(at)].behind)
      visit(pieces_[static_cast<size_t>(at)]);
  }

 private:
  struct Candidate {
    uint32_t rank;
    int32_t left;   // the first piece
    uint32_t size;  // of both pieces together; a different size shows that one of them was merged since, as pieces only
                    // grow
    int32_t id;
  };
  static bool later(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  }

  template <class Find>
  bool push(int32_t at, Find& find) {
    const BpePiece& left = pieces_[static_cast<size_t>(at)];
    const BpePiece& right = pieces_[static_cast<size_t>(left.behind)];
    const BpePair pair = find(left, right);
    if (pair.id < 0) return false;
    heap_.push_back({pair.rank, at, left.size + right.size, pair.id});
    return true;
  }

  // Returns false if one of the two pieces was merged with another since.
  bool join(const Candidate& pair) {
    BpePiece& left = pieces_[static_cast<size_t>(pair.left)];
    if (left.size == 0 || left.behind < 0) return false;
    BpePiece& right = pieces_[static_cast<size_t>(left.behind)];
    if (left.size + right.size != pair.size) return false;
    left.size = pair.size;
    left.id = pair.id;
    left.behind = right.behind;
    right.size = 0;
    if (left.behind >= 0) pieces_[static_cast<size_t>(left.behind)].before = pair.left;
    return true;
  }

  std::vector<BpePiece> pieces_;
  std::vector<Candidate> heap_;
};

}  // namespace heed
