// Quantized weights as the CPU holds them: the file's bytes in another order, so that one load gets the same number of the
// blocks of several rows.
//
// The rows of a weight [..., rows, k] are cut into panels of MatmulKernels::cols rows, which are the columns of b, and a panel
// into blocks along k, in the order of block_words.hpp. Each number of a block lies beside those of the other columns:
// [panel][k / block][number][cols]. Where rows are no multiple of cols, the last panel is filled up with zeros.
#pragma once

#include <memory>

#include "cpu/gemm/matmul.hpp"

namespace heed::cpu {

// Panels for all rows of a tensor, on `pages`, which pack_blocks then fills in. Null if there is no memory.
std::shared_ptr<PackedB> allocate_blocks(DType type, int64_t rows, int64_t k, const MatmulKernels& kernels,
                                         PagePool* pages);
// Packs rows `first` .. `first` + `row_count` of the tensor, which `rows` holds. `first` is a multiple of kernels.cols.
void pack_blocks(const std::byte* rows, int64_t first, int64_t row_count, int64_t k, const MatmulKernels& kernels,
                 ThreadPool& pool, PackedB* packed);

// Panels for what `view`, [batch..., k, n], shows of the whole tensor: the same ones where its columns begin and end with a
// panel in each batch, else a copy. Null if there is no memory.
std::shared_ptr<const PackedB> blocks_of(const std::shared_ptr<const PackedB>& whole, const View& view,
                                         const MatmulKernels& kernels, PagePool* pages);
// The first panel of what the view shows.
const std::byte* first_panel(const PackedB& packed, const View& view, const MatmulKernels& kernels);

// Writes the k values of a row of the tensor.
void widen_row(const PackedB& whole, int64_t row, int64_t k, const MatmulKernels& kernels, float* values);

}  // namespace heed::cpu
