// The layout of quantized weights on the CPU: the file's bytes in another order, so that one load gets the same number of several rows'
// blocks.
//
// The rows of a weight [..., rows, k] are divided into panels of MatmulKernels::cols rows, which are the columns of b, and a panel into
// blocks along k, in the layout of block_words.hpp. Each number of a block is stored next to those of the other columns: [panel][k /
// block][number][cols]. The last panel is padded with zeros.
#pragma once

#include <memory>

#include "cpu/gemm/matmul.hpp"

namespace heed::cpu {

// Allocates panels for all rows of a tensor in `pages`; pack_blocks fills them. Null if there is not enough memory.
std::shared_ptr<PackedB> allocate_blocks(DType type, int64_t rows, int64_t k, const MatmulKernels& kernels,
                                         PagePool* pages);
// Packs rows `first` .. `first` + `row_count` of the tensor, which `rows` points to. `first` is a multiple of kernels.cols.
void pack_blocks(const std::byte* rows, int64_t first, int64_t row_count, int64_t k, const MatmulKernels& kernels,
                 ThreadPool& pool, PackedB* packed);

// Panels for the part of the whole tensor that `view`, [batch..., k, n], shows: the same panels if its columns begin and end with a panel
// in each batch, else a copy. Null if there is not enough memory.
std::shared_ptr<const PackedB> blocks_of(const std::shared_ptr<const PackedB>& whole, const View& view,
                                         const MatmulKernels& kernels, PagePool* pages);
// The first panel of the view.
const std::byte* first_panel(const PackedB& packed, const View& view, const MatmulKernels& kernels);

// Dequantizes the k values of one row of the tensor.
void widen_row(const PackedB& whole, int64_t row, int64_t k, const MatmulKernels& kernels, float* values);

}  // namespace heed::cpu
