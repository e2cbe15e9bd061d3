#include <algorithm>
#include <numeric>

#include "base/arith.hpp"
#include "graph/rewrite/rewrites.hpp"

namespace heed::detail {

// Greedy by size: the largest item comes first, each at the lowest offset where no item with an overlapping live range lies. This is within
// a few percent of the optimum on transformer graphs.
uint64_t place_scratch(std::vector<ScratchItem>* items, uint64_t alignment) {
  std::vector<size_t> order(items->size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return (*items)[a].bytes > (*items)[b].bytes; });
  uint64_t total = 0;
  std::vector<const ScratchItem*> placed;  // sorted by offset
  for (size_t index : order) {
    ScratchItem& item = (*items)[index];
    uint64_t offset = 0;
    for (const ScratchItem* other : placed) {
      const bool lives_together = other->first <= item.last && item.first <= other->last;
      if (!lives_together) continue;
      if (offset + item.bytes <= other->offset) break;
      offset = std::max(offset, align_up(other->offset + other->bytes, alignment));
    }
    item.offset = offset;
    total = std::max(total, offset + item.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &item,
                                   [](const ScratchItem* a, const ScratchItem* b) { return a->offset < b->offset; }),
                  &item);
  }
  return total;
}

}  // namespace heed::detail
