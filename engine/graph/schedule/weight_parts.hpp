// A weight [rows, columns] that exceeds what a device binds as one tensor is divided into parts of some rows, each a tensor of its own. An
// upload divides it (place_weights), and a schedule reads the parts (rewrite/divide_weights.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/arith.hpp"

namespace heed::detail {

// Rows of each part except the last, which may have fewer; all rows if the weight is not divided.
inline int64_t rows_of_parts(int64_t rows, uint64_t row_bytes, uint64_t most_bytes) {
  constexpr int64_t kStep = 64;  // parts begin at whole blocks of words
  const auto most = static_cast<int64_t>(std::min<uint64_t>(most_bytes / row_bytes, INT64_MAX)) / kStep * kStep;
  if (static_cast<uint64_t>(rows) <= (most_bytes - most_bytes % 4) / row_bytes || most == 0) return rows;
  return std::min(most, align_up<int64_t>(ceil_div<int64_t>(rows, ceil_div<int64_t>(rows, most)), kStep));
}

// "embed.weight[64:128]"
inline std::string name_of_part(std::string_view name, int64_t begin, int64_t end) {
  return std::string(name) + '[' + std::to_string(begin) + ':' + std::to_string(end) + ']';
}

}  // namespace heed::detail
