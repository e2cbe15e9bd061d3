// Kernels whose workgroups are single subgroups, for software drivers: attention_software.comp.
#include <algorithm>

#include "kernels/attention/attention.hpp"

namespace heed::kernels::attention {
namespace {

constexpr ByStorage kSoftwareIds = {KernelId::AttentionF32Software, KernelId::AttentionF16Software,
                                    KernelId::AttentionBf16Software};

// Queries of one subgroup. With more of them each key and value that was read is used more often, but wide values take
// a driver long to compile.
uint32_t most_queries_of(uint32_t lanes, int64_t d_v) {
  const int64_t groups = ceil_div<int64_t>(d_v, 4 * lanes);
  return groups <= 2 ? 16 : groups <= 4 ? 8 : 4;
}

constexpr KernelId kNarrowSoftware = KernelId::AttentionF32NarrowSoftware;
KernelId id_of(const Asked& asked) { return asked.narrow ? kNarrowSoftware : kSoftwareIds.of(asked.dtype); }

// A driver takes minutes to compile the kernel for subgroups of any size but 8, which lavapipe usually has.
bool may_use(const Capabilities& device, KernelId id) {
  return device.allows(id) && device.software && device.subgroup_size == 8 && device.subgroup_arithmetic &&
         device.subgroup_shuffle;
}

// Times of a workgroup for one query and of one for several, which takes as long when it has fewer queries.
constexpr double kSingle = 1.0, kSeveral = 1.75;

}  // namespace

bool is_software(KernelId id) { return kSoftwareIds.has(id) || id == kNarrowSoftware; }

void list_software(const Asked& asked, Candidates* candidates) {
  if (!may_use(asked.device, id_of(asked))) return;
  const uint32_t lanes = asked.device.subgroup_size;
  const auto add = [&](uint32_t queries) {
    Candidate& one = add_queries(candidates, id_of(asked), lanes, queries);
    one.traits.group = queries == 1 ? kSingle : kSeveral;
    one.set(SoftwareSpec::LANES, lanes).set(SoftwareSpec::TQ, queries);
    one.reads_vec4 = true;
    one.why = queries == 1 ? "fused, a subgroup per query, no barrier: a CPU runs this driver"
                           : "fused, several queries per subgroup, no barrier: a CPU runs this driver";
  };
  const uint32_t several = most_queries_of(lanes, asked.heads.d_v);
  // With fewer queries than lanes all lanes read the same query, which crashes Mesa 26's lavapipe if it is of bf16.
  if (asked.dtype == DType::BF16) return add(std::max(several, lanes));
  add(1);
  add(several);
}

}  // namespace heed::kernels::attention
