// What the kernels of matmul have in common. Each family of them has a file: matmul_tiles.cpp, matmul_subgroup.cpp,
// matmul_vector.cpp, matmul_matrix.cpp, matmul_matrix_nv2.cpp; matmul.cpp chooses among them at each run.
#pragma once

#include <span>

#include "kernels/lowering.hpp"

namespace heed::kernels {

namespace matmul {

// As in shared/matmul.glsl; what only one family has begins at kOwn.
enum Spec : size_t { kFlags = 3, kActivation, kDropoutThreshold, kDropoutScale, kRows, kColumns, kOwn };
// Of matmul_matrix.comp: rows and columns of one subgroup.
enum MatrixSpec : size_t { kWm = kOwn + 1, kWn };

// The product at one run: batches b0 x b1 of m x n x k, and the strides of each operand along them.
struct Problem {
  struct Operand {
    int64_t offset = 0, b0 = 0, b1 = 0, row = 0, column = 0;
  };
  int64_t b0 = 1, b1 = 1, m = 1, n = 1, k = 1;
  int64_t parts = 1;            // as many products, each of the next k, with dense results one after the other
  Operand a, b, residual, out;  // a: rows m, columns k; b: rows k, columns n
  int64_t workspace = 0;        // floats that parts of k may lie in
  int64_t cores = 1;            // of the device

  // Whether both a and b can be read four elements at a time along k, or b along n if not `b_k_fast`.
  bool reads_vec4(bool b_k_fast) const;
  int64_t tiles(const KernelKey& key) const;  // workgroups that this kernel needs
};
Problem problem_of(const Emit& emit);

// Rows, at most, with those of all batches that may become one matrix when the plan runs.
int64_t most_rows(const Select& select);
// Whether their number differs from run to run.
bool rows_vary(const Select& select);

// HEED_MATMUL_* of the epilogue and of the operands' layouts.
uint32_t flags_of(const Select& select);
// What is known of Problem::reads_vec4 before a run.
Vec4 known_vec4(const Select& select);

// How a and b are stored. b may be narrower than a, as weights that take half the bytes.
enum class Operands : uint8_t { F32, F16, F32ByF16, F32ByBf16, Bf16, Bf16ByF16 };
Operands operands_of(const Select& select);
// The kernels of one family.
struct Family {
  KernelId f32, f16, narrow, bf16;  // narrow: b of two bytes beside an a of F32; bf16: b of bf16 or f16
  KernelId of(Operands operands) const {
    if (operands >= Operands::Bf16) return bf16;
    return operands == Operands::F32 ? f32 : operands == Operands::F16 ? f16 : narrow;
  }
  bool has(const KernelKey& key) const { return key.id == f32 || key.id == f16 || key.id == narrow || key.id == bf16; }
};
inline constexpr Family kTileKernels = {KernelId::MatmulF32, KernelId::MatmulF16, KernelId::MatmulF32Narrow,
                                        KernelId::MatmulBf16};
inline constexpr Family kSubgroupKernels = {KernelId::MatmulF32Subgroup, KernelId::MatmulF16Subgroup,
                                            KernelId::MatmulF32NarrowSubgroup, KernelId::MatmulBf16Subgroup};
// The reason for a choice, by Operands.
struct Why {
  const char* texts[6];
  const char* of(Operands operands) const { return texts[static_cast<size_t>(operands)]; }
};
#define HEED_MATMUL_WHY(text)                                                                                 \
  {{text "; f32 storage, f32 sums", text "; f16 storage, f32 sums", text "; f32 by weights of f16, f32 sums", \
    text "; f32 by weights of bf16, f32 sums", text "; bf16 storage, f32 sums",                               \
    text "; bf16 by weights of f16, f32 sums"}}

struct Tile {
  uint32_t rows, columns;
};
// Adds a kernel that makes such tiles. `own`: the constants that only its family has; `flags`: more of HEED_MATMUL_*.
KernelUse& add(const Select& select, KernelId id, uint32_t invocations, const Tile& tile, std::span<const uint32_t> own,
               uint32_t flags, const char* why);

// The families. Each adds the kernels that the product may ask for at some run; false: none. `cost` tells the time of a
// product with a kernel, comparable among kernels of all families but the vectors'.
void add_tiles(const Select& select);
double tiles_cost(const Problem& problem, const KernelKey& key);

bool add_subgroups(const Select& select);
double subgroups_cost(const Problem& problem, const KernelKey& key);

bool add_matrix_units(const Select& select);
double matrix_units_cost(const Problem& problem, const KernelKey& key);

// The same by VK_NV_cooperative_matrix2.
void add_workgroup_matrices(const Select& select);
double workgroup_matrices_cost(const Problem& problem, const KernelKey& key);
// Whether each batch of each operand begins where such a kernel can load and store it.
bool suits_workgroup_matrices(const Problem& problem);

// Products of few rows that are long enough along k: what they take is the time to read b.
enum class Vectors : uint8_t { None, AtSomeRuns, Always };  // runs at which one of them serves best
Vectors add_vectors(const Select& select);
bool is_vector(const KernelKey& key);
// Whether such a kernel is the best for the product.
bool serves(const KernelKey& key, const Problem& problem);

// How many parts k is cut into, so that few tiles occupy a GPU, and none takes long: matmul_split.cpp. 1: it is not.
int64_t parts_of(const Problem& problem, const KernelKey& key);
// Adds, where the step has a workspace, each kernel once more, with its sums going there, and the one that adds them.
void add_parts(const Select& select);
// The dispatches of a product in several parts, by the kernel at this place of the list.
void emit_parts(const Emit& emit, const Problem& problem, uint32_t kernel, int64_t parts);

void emit_product(const Emit& emit, const Problem& problem, uint32_t kernel, bool partial);
MatmulParams params_of(const Emit& emit, const Problem& problem, const KernelKey& key);

// Full waves of workgroups, one on each core, times the work of one.
double waves_cost(const Problem& problem, const KernelKey& key, double efficiency);

}  // namespace matmul

}  // namespace heed::kernels
