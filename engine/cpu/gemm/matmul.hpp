// out = residual + dropout(act(scale * (a x b) + bias)), or residual times it: sizes and strides at one run, and the packed form of b. The
// computation is in matmul.cpp and matmul_chunk.hpp, the innermost loops in matmul_tile-inl.hpp.
#pragma once

#include "cpu/device/page_pool.hpp"
#include "cpu/gemm/matmul_kernels.hpp"
#include "cpu/ops/rows.hpp"

namespace heed::cpu {

// b as panels of MatmulKernels::cols columns: [batch][panel][k][cols], the last panel padded with zeros; if the storage type's tiles take
// steps of several k, [k / step][cols][step]; if quantized, as in cpu/gemm/blocks.hpp.
struct PackedB {
  PooledBuffer memory;
  DType dtype = DType::F32;
  int64_t first_row = 0;  // of a quantized weight: the row at which the panels begin
};

inline int64_t panel_bytes(int64_t elements, DType type) {
  return static_cast<int64_t>(bytes_of(type, static_cast<uint64_t>(elements)));
}

// The layout of b's elements: [batch axes..., k, n].
struct LayoutB {
  View view, batches;  // `batches` lacks the last axis: each of its rows is one batch, of length k

  explicit LayoutB(const View& b) : view(b), batches(b) { --batches.rank; }
  int64_t k() const { return row_length(batches); }
  int64_t n() const { return row_length(view); }
};

// Packs columns first .. first + cols of the batch at `offset` into one panel of `packed_type`: b's own type, or F32 for any type.
void pack_panel(const Operand& b, int64_t offset, int64_t first, int64_t cols, DType packed_type, void* panel);

// Packs a constant b (a weight or constant of constant shape) in its storage type, in `pages`, which may be null. Null if there is not
// enough memory.
std::shared_ptr<const PackedB> pack_constant(const Operand& b, const MatmulKernels& kernels, ThreadPool& pool,
                                             PagePool* pages);
// Writes the packed data back to the elements that `view` shows: the inverse of pack_constant.
void unpack(const PackedB& packed, const View& view, const MatmulKernels& kernels, ThreadPool& pool, std::byte* to);
// Whether b of this node is constant, so that it is packed once, at compile.
bool has_constant_b(const Schedule& schedule, const Node& node);

namespace matmul {

enum Role { kA, kB, kOut, kResidual };
inline constexpr int kRoles = 4;

// Axes of out before the columns, with each operand's stride along them, and the stride in the row-major index of out's elements, which
// dropout uses.
struct Axes {
  int count = 0;
  int64_t dim[kMaxRank] = {};
  int64_t stride[kRoles][kMaxRank] = {};
  int64_t logical[kMaxRank] = {};

  int64_t size() const;
  void merge();  // merges adjacent axes that have a common stride in every operand
};

struct Position {
  int64_t offset[kRoles] = {};
  int64_t logical = 0;

  void advance(const Axes& axes, int64_t index);
};

// The matmul at one run. Batch axes along which b has stride 0 count as rows, since one b serves them all.
struct Problem {
  Operand operand[kRoles];
  Operand bias;
  const MatmulAttrs& attrs;
  DropoutRule dropout;
  const MatmulKernels& kernels;
  Axes rows, batches;
  int64_t n = 1, k = 1, a_k_stride = 0;
  bool keeps = false;          // operand[kResidual] is the output for the activation's input
  bool direct_a = false;       // tiles read a in place
  bool direct_finish = false;  // finished tiles are written directly to out

  explicit Problem(const Pass& pass);
  int64_t panels() const { return ceil_div(n, kernels.cols); }
  int64_t panel_elements(DType type) const { return align_up(k, kernels.of(type).step) * kernels.cols; }

 private:
  int64_t stride_along(Role role, int axis) const;
  void set_axes();
};

}  // namespace matmul
}  // namespace heed::cpu
