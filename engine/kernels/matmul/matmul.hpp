// Declarations that the files of matmul share. Each family of kernels has a file that lists them with their costs:
// matmul_tiles.cpp, matmul_vector.cpp, matmul_matrix.cpp, matmul_dot.cpp. A new family is declared and listed here, in kListers, and
// nowhere else.
#pragma once

#include "kernels/choose/chooser.hpp"

namespace heed::kernels {

namespace matmul {

// Numbers of specialization constants, as in shared/matmul.glsl. Those of a single family begin at kOwn.
using Spec = MatmulConstants;

// The product in one run: batches b0 x b1 of m x n x k, and the strides of each operand along them.
struct Problem {
  struct Operand {
    int64_t offset = 0, b0 = 0, b1 = 0, row = 0, column = 0;
  };
  int64_t b0 = 1, b1 = 1, m = 1, n = 1, k = 1;
  int64_t splits = 1;           // each is a product over the next k, and their dense results follow each other
  Operand a, b, residual, out;  // a: rows m, columns k; b: rows k, columns n
  int64_t workspace = 0;        // floats that the sums of splits may take
  int64_t cores = 1;            // of the device
  int64_t b_blocks = 0;         // of all of a quantized b
  int64_t depth_step = 1;       // k is cut at multiples of this
  bool b_k_fast = false;        // b's columns lie in memory one after the other
  bool vec4 = false;  // both a and b can be read four elements at a time along k, or b along n if not b_k_fast
  bool vec8 = false;  // both can be read eight elements at a time, each along the axis where its neighbours lie

  // Workgroups that this kernel needs.
  int64_t tiles(const Traits& traits) const {
    return ceil_div<int64_t>(m, traits.rows) * ceil_div<int64_t>(n, traits.columns) * b0 * b1 * splits;
  }
  // Time for one k, in units of which a workgroup with a 64x64 tile takes 4096; see kernels/choose/chooser.hpp.
  double cost(const Traits& traits) const;
  uint32_t size_class() const { return product_class(m, n, k, b_k_fast); }
};
Problem problem_of(const Emit& emit);

// The most rows of any run, with those of all batches that problem_of merges into one matrix.
int64_t most_rows(const Select& select);
// Whether the number of these rows differs from run to run.
bool rows_vary(const Select& select);

// The HEED_MATMUL_* flags for the epilogue and the operands' layouts.
uint32_t flags_of(const Select& select);
// Whether Problem::vec4 and vec8 will be true, as far as compile knows.
Vec4 known_vec4(const Select& select);
Vec4 known_vec8(const Select& select);

// How a and b are stored. b may be narrower than a, as weights that take half the bytes, or quantized.
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
  KernelId f32, f16, narrow, bf16;  // narrow: b of two bytes beside an a of F32; bf16: b of bf16 or f16
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

// Adds a kernel that makes tiles of `rows` x `columns`, each in the time `group`.
Candidate& add_tile(Candidates* candidates, KernelId id, uint32_t invocations, uint32_t rows, uint32_t columns,
                    double group);
// The name in Tuning of what allows kernels that round rows or emulate f32.
std::string_view option_of(const Schedule& schedule);

// Each family appends its kernels that may run the product, with their costs.
void list_tiles(const Select& select, Candidates* candidates);
void list_matrix_units(const Select& select, Candidates* candidates);
void list_dots(const Select& select, Candidates* candidates);
void list_vectors(const Select& select, Candidates* candidates);
struct Lister {
  void (*list)(const Select& select, Candidates* candidates);
  bool in_order;  // sums run over k in order, as reproducible plans need it
};
// All families, in the order in which they list their kernels.
inline constexpr Lister kListers[] = {
    {list_vectors, false}, {list_matrix_units, false}, {list_dots, false}, {list_tiles, true}};

// Into how many splits k is cut, so that few tiles keep a GPU busy and no tile takes long; 1: k is not cut.
int64_t splits_of(const Problem& problem, const Traits& traits);
// Where the pass has a workspace, adds a twin of a kernel that leaves its sums there.
void add_partial(const Select& select, uint32_t kernel);
// Where the pass has a workspace, adds the kernel that adds the sums of splits.
void add_sum(const Select& select);
// The dispatches of a product whose k is cut, by this partial kernel.
void emit_splits(const Emit& emit, const Problem& problem, uint32_t kernel, int64_t splits);

KernelUse& add(const Select& select, const Candidate& candidate, bool vec4);
void emit_product(const Emit& emit, const Problem& problem, uint32_t kernel, bool partial);
MatmulParams params_of(const Emit& emit, const Problem& problem, const KernelUse& use);

}  // namespace matmul

}  // namespace heed::kernels
