// Kernels whose workgroups are single subgroups, for software drivers: matmul_software.comp.
#include "kernels/matmul/matmul.hpp"

namespace heed::kernels::matmul {
namespace {

constexpr Family kSoftwareKernels = {KernelId::MatmulF32Software,
                                     KernelId::MatmulF16Software,
                                     KernelId::MatmulF32NarrowSoftware,
                                     KernelId::MatmulBf16Software,
                                     {KernelId::MatmulF32QuantizedSoftware, KernelId::MatmulF16QuantizedSoftware,
                                      KernelId::MatmulBf16QuantizedSoftware}};

// A lane makes tm rows of tn columns. In a higher tile each element of b that was read is used more often.
struct SoftwareTile {
  uint32_t tm, tn;
  Why why;

  // Cycles that a tile takes for four k, from times on lavapipe: reads of a and b, then multiply-adds.
  double cycles(uint32_t lanes) const {
    const uint32_t reads = tn + (tm < lanes ? tm : tm / lanes);
    return 108.0 * reads + 6.3 * tm * tn;
  }
};
constexpr SoftwareTile kSoftwareTiles[] = {
    {32, 4, HEED_MATMUL_WHY("32 rows per subgroup, no barrier: a CPU runs this driver")},
    {4, 8, HEED_MATMUL_WHY("4 rows per subgroup, no barrier: a CPU runs this driver")},
    {1, 8, HEED_MATMUL_WHY("a row per subgroup, no barrier: a CPU runs this driver")}};
}  // namespace

void list_software(const Select& select, Candidates* candidates) {
  const Capabilities& device = select.device;
  const uint32_t lanes = device.subgroup_size;
  const Operands operands = operands_of(select);
  const KernelId id = kSoftwareKernels.of(operands);
  const bool shuffles = device.subgroup_ballot && device.subgroup_shuffle && !device.slow_shuffle;
  if (!device.software || !shuffles || !device.allows(id)) return;
  if (lanes != 4 && lanes != 8 && lanes != 16) return;
  for (const SoftwareTile& tile : kSoftwareTiles) {
    Candidate& one = add_tile(candidates, id, lanes, tile.tm, tile.tn * lanes, tile.cycles(lanes));
    one.traits.in_waves = false;
    one.set(MatmulSoftwareConstants::LANES, lanes);
    one.reads_vec4 = true;
    one.why = tile.why.of(operands);
  }
}

}  // namespace heed::kernels::matmul
