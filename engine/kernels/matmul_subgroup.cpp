// The kernel of single subgroups, for software drivers: matmul_subgroup.comp.
#include "kernels/matmul.hpp"

namespace heed::kernels::matmul {
namespace {

// TM rows of TN columns per lane. The higher, the more often a read of memory is used.
struct Shape {
  uint32_t tm, tn;
  Why why;
};
constexpr Shape kShapes[] = {{32, 4, HEED_MATMUL_WHY("32 rows per subgroup, no barrier: a CPU runs this driver")},
                             {4, 8, HEED_MATMUL_WHY("4 rows per subgroup, no barrier: a CPU runs this driver")},
                             {1, 8, HEED_MATMUL_WHY("a row per subgroup, no barrier: a CPU runs this driver")}};
// From here on the widest tile is the fastest, however much of it is padding.
constexpr int64_t kManyRows = 9;

// Each kernel costs the driver time to compile, so that only those are made that a run may ask for.
bool is_wanted(const Shape& shape, int64_t rows, bool vary) {
  if (shape.tm == 1) return rows == 1;
  if (shape.tm == 4) return rows > 1 && (vary || rows < kManyRows);
  return rows >= kManyRows;
}

}  // namespace

bool add_subgroups(const Select& select) {
  const Capabilities& device = select.device;
  const uint32_t lanes = device.subgroup_size;
  const Operands operands = operands_of(select);
  const KernelId id = kSubgroupKernels.of(operands);
  const bool shuffles = device.subgroup_ballot && device.subgroup_shuffle && !device.slow_shuffle;
  if (!device.software || !shuffles || !device.allows(id)) return false;
  if (lanes != 4 && lanes != 8 && lanes != 16) return false;
  for (const Shape& shape : kShapes) {
    if (!is_wanted(shape, most_rows(select), rows_vary(select))) continue;
    add_vec4_kernels(known_vec4(select), [&](bool vec4) -> KernelUse& {
      const uint32_t own[] = {lanes};
      return add(select, id, lanes, {shape.tm, shape.tn * lanes}, own,
                 vec4 ? HEED_MATMUL_A_VEC4 | HEED_MATMUL_B_VEC4 : 0, shape.why.of(operands));
    });
  }
  return true;
}

// Cycles of one tile and four k, from times on lavapipe: reads of A and B, and multiply-adds.
double subgroups_cost(const Problem& problem, const KernelKey& key) {
  const uint32_t lanes = key.spec[kOwn], tm = key.spec[kRows], tn = key.spec[kColumns] / lanes;
  const uint32_t reads = tn + (tm < lanes ? tm : tm / lanes);
  return static_cast<double>(problem.tiles(key)) * (108.0 * reads + 6.3 * tm * tn);
}

}  // namespace heed::kernels::matmul
