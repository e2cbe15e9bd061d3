// Memory that is read or written soon. Register tiles ask for it while they multiply, two cache lines at each step: asked for
// all at once, most of it would be forgotten, and rows lie too far apart for the hardware to foresee them.
#pragma once

#include "cpu/ahead.hpp"
#include "cpu/step.hpp"

namespace heed::cpu {

// A queue; what does not fit is not asked for.
class Wanted {
 public:
  // `rows` rows of x along its axis 2, from `offset` on.
  void add(const Operand& x, int64_t offset, int64_t rows) {
    if (rows <= 0 || x.view.stride[3] != 1) return;
    const auto element = static_cast<int64_t>(size_of(x.view.dtype));
    for (int64_t at = 0; at < x.view.dim[3] * element && count_ < kMost; at += kBytesPerStep)
      columns_[(first_ + count_++) % kMost] = {x.data + offset * element + at, x.view.stride[2] * element, rows};
  }

  // What a tile of so many steps asks for; if nothing is wanted, `own`, which it reads anyway.
  Ahead take(int64_t steps, const float* own) {
    if (count_ == 0) return {reinterpret_cast<const std::byte*>(own), 0};
    Column& column = columns_[first_];
    const Ahead ahead = {column.at, column.pitch};
    column.at += steps * column.pitch;
    column.rows -= steps;
    if (column.rows <= 0) {
      first_ = (first_ + 1) % kMost;
      --count_;
    }
    return ahead;
  }

 private:
  static constexpr int64_t kBytesPerStep = 128, kMost = 16;
  // Two lines of each of some rows.
  struct Column {
    const std::byte* at;
    int64_t pitch, rows;
  };
  Column columns_[kMost];
  int64_t first_ = 0, count_ = 0;
};

}  // namespace heed::cpu
