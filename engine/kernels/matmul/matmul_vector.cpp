// Kernels for few rows, whose time is that of reading b: matmul_vector.comp.
#include "kernels/matmul/few_rows.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/planes.hpp"

namespace heed::kernels::matmul {
namespace {

// Columns of a workgroup if b is contiguous along k: enough for many reads in flight, few enough for many workgroups.
constexpr uint32_t kColumnsAlongK = 4;
// Neighbouring lanes along n if b is contiguous along n. Each reads 16 bytes, together a cache line.
constexpr uint32_t kLanesAlongN = 8;
// The invocations of a workgroup share the sum over k: with shorter sums most would have nothing to do.
constexpr int64_t kLeastVectorDepth = 256;
// The least elements of b that a split reads; a shorter one costs more to dispatch than it gains.
constexpr uint32_t kLeastOfSplit = 1 << 14;

// Multiply-adds per time, relative to 64x64 tiles; the time for few rows is that of reading b.
constexpr double kEfficiency = 2;

struct Rows {
  uint32_t rows;
  Why why;
};
constexpr Rows kRowCounts[] = {
    {1, HEED_MATMUL_WHY("one row: b is read once")},
    {4, HEED_MATMUL_WHY("up to 4 rows: b is read once")},
    {8, HEED_MATMUL_WHY("up to 8 rows: b is read once")},
};
constexpr uint32_t kMostRows = 8;

constexpr Family kPlain = {
    KernelId::MatmulF32Vector,
    KernelId::MatmulF16Vector,
    KernelId::MatmulF32NarrowVector,
    KernelId::MatmulBf16Vector,
    {KernelId::MatmulF32QuantizedVector, KernelId::MatmulF16QuantizedVector, KernelId::MatmulBf16QuantizedVector}};
constexpr Family kReducing = {KernelId::MatmulF32VectorSubgroup,
                              KernelId::MatmulF16VectorSubgroup,
                              KernelId::MatmulF32NarrowVectorSubgroup,
                              KernelId::MatmulBf16VectorSubgroup,
                              {KernelId::MatmulF32QuantizedVectorSubgroup, KernelId::MatmulF16QuantizedVectorSubgroup,
                               KernelId::MatmulBf16QuantizedVectorSubgroup}};

KernelId id_for(const Select& select, Operands operands) {
  const KernelId subgroups = kReducing.of(operands);
  if (select.device.subgroup_arithmetic && select.device.allows(subgroups)) return subgroups;
  return kPlain.of(operands);
}

// The number of rows of the smallest kernel that fits this many rows.
uint32_t narrowest(int64_t rows) {
  for (const Rows& one : kRowCounts)
    if (one.rows >= rows) return one.rows;
  return kMostRows;
}

}  // namespace

void list_vectors(const Select& select, Candidates* candidates) {
  const SizeId depth = select.info(in::kA).dims[static_cast<size_t>(select.info(in::kA).rank - 1)];
  const int64_t most = most_rows(select);
  const bool vary = rows_vary(select);
  const Operands operands = operands_of(select);
  const KernelId id = id_for(select, operands);
  if (select.max_of(depth) < kLeastVectorDepth || (most > kMostRows && !vary) || !select.device.allows(id)) return;
  const bool along_k = (flags_of(select) & HEED_MATMUL_B_K_FAST) != 0;
  const uint32_t columns = along_k ? kColumnsAlongK : kLanesAlongN * (operands == Operands::F32 ? 4 : 8);
  const bool by_subgroups = along_k && id == kReducing.of(operands);
  const uint32_t invocations = by_subgroups ? invocations_along_k(select.device) : kMostAlongK;
  for (const Rows& rows : kRowCounts) {
    // If the number of rows varies, the kernel for one row is listed, too, for decoding.
    if (rows.rows != narrowest(most) && !(vary && rows.rows == 1)) continue;
    const double group = rows.rows * columns / kEfficiency;
    Candidate& one = add_tile(candidates, id, invocations, rows.rows, columns, group);
    one.traits.most = rows.rows;
    one.traits.least_depth = kLeastVectorDepth;
    one.traits.least_split = kLeastOfSplit / columns;
    if (is_quantized(select.info(in::kB).dtype))
      one.set(MatmulBlockConstants::RUN, run_of(select.max_of(depth), rows.rows));
    one.why = rows.why.of(operands);
  }
}

}  // namespace heed::kernels::matmul
