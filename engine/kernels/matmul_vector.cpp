// Few rows, bandwidth-bound: matmul_vector.comp.
#include "kernels/matmul.hpp"

namespace heed::kernels::matmul {
namespace {

constexpr uint32_t kInvocations = 128;
// Rows of b that a workgroup reads side by side: enough for many reads to be under way, few enough for many workgroups.
constexpr uint32_t kColumnsAlongK = 4;
// Neighbours along n, each with 16 bytes: a cache line.
constexpr uint32_t kLanesAlongN = 8;
// The invocations of a workgroup share k: with less of it most would have nothing to do.
constexpr int64_t kLeastDepth = 256;

struct Shape {
  uint32_t rows;
  Why why;
};
constexpr Shape kShapes[] = {
    {1, HEED_MATMUL_WHY("one row: b is read once")},
    {4, HEED_MATMUL_WHY("up to 4 rows: b is read once")},
    {8, HEED_MATMUL_WHY("up to 8 rows: b is read once")},
};
constexpr uint32_t kMostRows = 8;

constexpr Family kPlain = {KernelId::MatmulF32Vector, KernelId::MatmulF16Vector, KernelId::MatmulF32NarrowVector,
                           KernelId::MatmulBf16Vector};
constexpr Family kReducing = {KernelId::MatmulF32VectorSubgroup, KernelId::MatmulF16VectorSubgroup,
                              KernelId::MatmulF32NarrowVectorSubgroup, KernelId::MatmulBf16VectorSubgroup};

KernelId id_for(const Select& select, Operands operands) {
  const KernelId subgroups = kReducing.of(operands);
  if (select.device.subgroup_arithmetic && select.device.allows(subgroups)) return subgroups;
  return kPlain.of(operands);
}

// The fewest rows of a kernel that holds these.
uint32_t narrowest(int64_t rows) {
  for (const Shape& shape : kShapes)
    if (shape.rows >= rows) return shape.rows;
  return kMostRows;
}

}  // namespace

Vectors add_vectors(const Select& select) {
  const SizeId depth = select.info(in::kA).dims[static_cast<size_t>(select.info(in::kA).rank - 1)];
  const int64_t rows = most_rows(select);
  const bool vary = rows_vary(select), depth_varies = !select.schedule.sizes.is_constant(depth);
  const Operands operands = operands_of(select);
  const KernelId id = id_for(select, operands);
  if (select.max_of(depth) < kLeastDepth || (rows > kMostRows && !vary) || !select.device.allows(id))
    return Vectors::None;
  const bool along_k = (flags_of(select) & HEED_MATMUL_B_K_FAST) != 0;
  const uint32_t columns = along_k ? kColumnsAlongK : kLanesAlongN * (operands == Operands::F32 ? 4 : 8);
  for (const Shape& shape : kShapes) {
    // Where the number of rows varies, one is what decoding has.
    if (shape.rows != narrowest(rows) && !(vary && shape.rows == 1)) continue;
    add(select, id, kInvocations, {shape.rows, columns}, {}, 0, shape.why.of(operands));
  }
  return rows > kMostRows || depth_varies ? Vectors::AtSomeRuns : Vectors::Always;
}

bool is_vector(const KernelKey& key) { return kPlain.has(key) || kReducing.has(key); }

bool serves(const KernelKey& key, const Problem& problem) {
  return problem.m <= key.spec[kRows] && problem.k >= kLeastDepth;
}

}  // namespace heed::kernels::matmul
