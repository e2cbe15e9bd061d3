// The query, key and value projections of an attention layer, from activations to heads.
#pragma once

#include <array>

#include "nn/parts.hpp"

namespace heed::nn {

// All sizes of an attention layer, with the defaults filled in.
struct Widths {
  int64_t heads = 1;
  int64_t kv_heads = 1;
  int64_t d_k = 0;
  int64_t d_v = 0;
  int64_t out = 0;
  // The width and number of heads of role 0 (query), 1 (key) or 2 (value).
  int64_t head_width(int role) const { return role == 2 ? d_v : d_k; }
  int64_t heads_of(int role) const { return role == 0 ? heads : kv_heads; }
};

// Returns false after recording a mistake.
bool resolve_widths(Graph& g, Tensor query, std::string_view prefix, const MultiHeadOptions& options, Widths* widths);

// Query, key and value, each [B, S, C] -> [B, heads, S, width]: views of as few matmuls as the names and equal inputs allow. After a
// mistake a tensor of the result is invalid.
std::array<Tensor, 3> project_heads(Graph& g, const std::array<Tensor, 3>& inputs, std::string_view prefix,
                                    const AttentionNames& names, const Widths& widths, bool bias,
                                    std::optional<DType> weight_dtype);

}  // namespace heed::nn
