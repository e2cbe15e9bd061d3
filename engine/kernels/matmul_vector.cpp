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
  const char* why_f32;
  const char* why_f16;
};
constexpr Shape kShapes[] = {
    {1, "one row: b is read once; f32 storage, f32 sums", "one row: b is read once; f16 storage, f32 sums"},
    {4, "up to 4 rows: b is read once; f32 storage, f32 sums",
     "up to 4 rows: b is read once; f16 storage, f32 sums"},
    {8, "up to 8 rows: b is read once; f32 storage, f32 sums",
     "up to 8 rows: b is read once; f16 storage, f32 sums"},
};
constexpr uint32_t kMostRows = 8;

KernelId id_for(const Select& select) {
  const bool f16 = select.out().dtype == DType::F16;
  const KernelId subgroups = f16 ? KernelId::MatmulF16VectorSubgroup : KernelId::MatmulF32VectorSubgroup;
  if (select.device.subgroup_arithmetic && select.device.allows(subgroups)) return subgroups;
  return f16 ? KernelId::MatmulF16Vector : KernelId::MatmulF32Vector;
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
  const KernelId id = id_for(select);
  if (select.max_of(depth) < kLeastDepth || (rows > kMostRows && !vary) || !select.device.allows(id))
    return Vectors::None;
  const bool f16 = select.out().dtype == DType::F16;
  const bool along_k = (flags_of(select) & HEED_MATMUL_B_K_FAST) != 0;
  const uint32_t columns = along_k ? kColumnsAlongK : kLanesAlongN * (f16 ? 8 : 4);
  for (const Shape& shape : kShapes) {
    // Where the number of rows varies, one is what decoding has.
    if (shape.rows != narrowest(rows) && !(vary && shape.rows == 1)) continue;
    add(select, id, kInvocations, {shape.rows, columns}, {}, 0, f16 ? shape.why_f16 : shape.why_f32);
  }
  return rows > kMostRows || depth_varies ? Vectors::AtSomeRuns : Vectors::Always;
}

bool is_vector(const KernelKey& key) {
  return key.id == KernelId::MatmulF32Vector || key.id == KernelId::MatmulF16Vector ||
         key.id == KernelId::MatmulF32VectorSubgroup || key.id == KernelId::MatmulF16VectorSubgroup;
}

bool serves(const KernelKey& key, const Problem& problem) {
  return problem.m <= key.spec[kRows] && problem.k >= kLeastDepth;
}

}  // namespace heed::kernels::matmul
