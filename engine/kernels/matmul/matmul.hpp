// Declarations shared by the files of matmul. Each family of kernels lists its kernels and their costs in a file: matmul_tiles.cpp,
// matmul_vector.cpp, matmul_matrix.cpp, matmul_dot.cpp. A new family is declared and listed here, in kListers, and nowhere else.
#pragma once

#include "kernels/choose/chooser.hpp"

namespace heed::kernels {

namespace matmul {

// Numbers of specialization constants, as in shared/matmul.glsl. Those of a single family begin at kOwn.
using Spec = MatmulConstants;

// A matmul in one run: batches b0 x b1 of m x n x k, and each operand's strides.
struct Problem {
  struct Operand {
    int64_t offset = 0, b0 = 0, b1 = 0, row = 0, column = 0;
  };
  int64_t b0 = 1, b1 = 1, m = 1, n = 1, k = 1;
  int64_t splits = 1;           // each computes the matmul over the next part of k; their contiguous results follow
                                // each other
  Operand a, b, residual, out;  // a: rows m, columns k; b: rows k, columns n
  int64_t workspace = 0;        // floats available for the sums of splits
  int64_t cores = 1;            // number of cores of the device
  int64_t b_blocks = 0;         // number of blocks of a quantized b
  int64_t depth_step = 1;       // splits of k begin at multiples of this
  bool b_k_fast = false;        // b's columns are contiguous
  bool vec4 = false;  // a and b can be read four elements at once: a along k, b along k, or along n if not b_k_fast
  bool vec8 = false;  // both can be read eight elements at once, each along its contiguous axis

  // The number of workgroups for this kernel.
  int64_t tiles(const Traits& traits) const {
    return ceil_div<int64_t>(m, traits.rows) * ceil_div<int64_t>(n, traits.columns) * b0 * b1 * splits;
  }
  // Time per k, in units of which a workgroup with a 64x64 tile takes 4096; see kernels/choose/chooser.hpp.
  double cost(const Traits& traits) const;
  uint32_t size_class() const { return product_class(m, n, k, b_k_fast); }
};
Problem problem_of(const Emit& emit);

// The most rows of any run, including those of batches that problem_of merges into one matrix.
int64_t most_rows(const Select& select);
// Whether this number of rows differs from run to run.
bool rows_vary(const Select& select);

// The HEED_MATMUL_* flags for the epilogue and the operands' layouts.
uint32_t flags_of(const Select& select);
// What compile knows about Problem::vec4 and vec8.
Vec4 known_vec4(const Select& select);
Vec4 known_vec8(const Select& select);

// Storage types of a and b. b may be narrower than a (weights of half the bytes), or quantized.
enum class Operands : uint8_t {
  F32,
  F16,
  F32ByF16,
  F32ByBf16,
  Bf16,
  Bf16ByF16,
  F32ByBlocks,
  F16ByBlocks,
  Bf16ByBlocks
};
Operands operands_of(const Select& select);
// The kernels of one family.
struct Family {
  KernelId f32, f16, narrow, bf16;  // narrow: b of two bytes and a of F32; bf16: b of bf16 or f16
  ByStorage quantized;              // by the storage of a
  KernelId of(Operands operands) const {
    switch (operands) {
      case Operands::F32: return f32;
      case Operands::F16: return f16;
      case Operands::F32ByF16:
      case Operands::F32ByBf16: return narrow;
      case Operands::Bf16:
      case Operands::Bf16ByF16: return bf16;
      case Operands::F32ByBlocks: return quantized.f32;
      case Operands::F16ByBlocks: return quantized.f16;
      case Operands::Bf16ByBlocks: return quantized.bf16;
    }
    return f32;
  }
};
// The reason for a choice, by Operands.
struct Why {
  const char* texts[9];
  const char* of(Operands operands) const { return texts[static_cast<size_t>(operands)]; }
};
#define HEED_MATMUL_WHY(text)                                                                                 \
  {{text "; f32 storage, f32 sums", text "; f16 storage, f32 sums", text "; f32 by weights of f16, f32 sums", \
    text "; f32 by weights of bf16, f32 sums", text "; bf16 storage, f32 sums",                               \
    text "; bf16 by weights of f16, f32 sums", text "; f32 by quantized weights, f32 sums",                   \
    text "; f16 by quantized weights, f32 sums", text "; bf16 by quantized weights, f32 sums"}}

// Adds a kernel with tiles of `rows` x `columns`, each of which takes the time `group`.
Candidate& add_tile(Candidates* candidates, KernelId id, uint32_t invocations, uint32_t rows, uint32_t columns,
                    double group);
// The name in Tuning of the option that allows kernels which round rows or emulate f32.
std::string_view option_of(const Schedule& schedule);

// Each family appends its kernels that support the matmul, with their costs.
void list_tiles(const Select& select, Candidates* candidates);
void list_matrix_units(const Select& select, Candidates* candidates);
void list_dots(const Select& select, Candidates* candidates);
void list_vectors(const Select& select, Candidates* candidates);
struct Lister {
  void (*list)(const Select& select, Candidates* candidates);
  bool in_order;  // sums run over k in order, as reproducible plans require
};
// All families, in the order in which their kernels are listed.
inline constexpr Lister kListers[] = {
    {list_vectors, false}, {list_matrix_units, false}, {list_dots, false}, {list_tiles, true}};

// The number of splits of k, so that few tiles keep a GPU busy and no tile takes too long; 1: k is not split.
int64_t splits_of(const Problem& problem, const Traits& traits);
// If the pass has a workspace, adds the partial twin of a kernel, which stores its sums there.
void add_partial(const Select& select, uint32_t kernel);
// If the pass has a workspace, adds the kernel that adds up the sums of splits.
void add_sum(const Select& select);
// Adds the dispatches of a matmul with split k, by this partial kernel.
void emit_splits(const Emit& emit, const Problem& problem, uint32_t kernel, int64_t splits);

KernelUse& add(const Select& select, const Candidate& candidate, bool vec4);
void emit_product(const Emit& emit, const Problem& problem, uint32_t kernel, bool partial);
MatmulParams params_of(const Emit& emit, const Problem& problem, const KernelUse& use);

}  // namespace matmul

}  // namespace heed::kernels
