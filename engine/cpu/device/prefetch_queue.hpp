// Rows that the next register tiles prefetch, two cache lines with each step of k. The hardware prefetcher does not predict them, as rows
// are too far apart, and prefetching all at once would evict most of them before use.
#pragma once

#include "cpu/device/pass.hpp"
#include "cpu/device/prefetch.hpp"

namespace heed::cpu {

class PrefetchQueue {
 public:
  // Adds `rows` rows of x along axis 2, from `offset` on. Rows that do not fit into the queue are not prefetched.
  void add(const Operand& x, int64_t offset, int64_t rows) {
    if (rows <= 0 || x.view.stride[3] != 1) return;
    const auto element = static_cast<int64_t>(size_of(x.view.dtype));
    for (int64_t at = 0; at < x.view.dim[3] * element && count_ < kMost; at += kBytesPerStep)
      columns_[(first_ + count_++) % kMost] = {x.data + offset * element + at, x.view.stride[2] * element, rows};
  }

  // The memory that a tile of `steps` steps prefetches; `own`, which the tile reads anyway, if the queue is empty.
  Prefetch take(int64_t steps, const float* own) {
    if (count_ == 0) return {reinterpret_cast<const std::byte*>(own), 0};
    Column& column = columns_[first_];
    const Prefetch prefetch = {column.at, column.pitch};
    column.at += steps * column.pitch;
    column.rows -= steps;
    if (column.rows <= 0) {
      first_ = (first_ + 1) % kMost;
      --count_;
    }
    return prefetch;
  }

 private:
  static constexpr int64_t kBytesPerStep = 128, kMost = 16;
  // Two neighbouring cache lines in each of several rows.
  struct Column {
    const std::byte* at;
    int64_t pitch, rows;
  };
  Column columns_[kMost];
  int64_t first_ = 0, count_ = 0;
};

}  // namespace heed::cpu
