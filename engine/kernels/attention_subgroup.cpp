// The kernel of single subgroups, for software drivers: attention_subgroup.comp.
#include <algorithm>

#include "kernels/attention.hpp"

namespace heed::kernels::attention {
namespace {

constexpr ByStorage kIds = {KernelId::AttentionF32Subgroup, KernelId::AttentionF16Subgroup,
                            KernelId::AttentionBf16Subgroup};

// Queries of one subgroup: the more, the more often a read key or value is used, up to what a driver compiles
// in reasonable time.
uint32_t most_queries_of(uint32_t lanes, int64_t d_v) {
  const int64_t groups = ceil_div<int64_t>(d_v, 4 * lanes);
  return groups <= 2 ? 16 : groups <= 4 ? 8 : 4;
}

}  // namespace

// With other widths than lavapipe's usual one it takes a driver minutes to compile.
bool uses_subgroups(const Capabilities& device, DType dtype) {
  return device.allows(kIds.of(dtype)) && device.software && device.subgroup_size == 8 && device.subgroup_arithmetic &&
         device.subgroup_shuffle;
}

bool is_subgroups(KernelId id) { return kIds.has(id); }

void list_subgroups(const Need& need, const Heads& heads, Candidates* candidates) {
  const TensorInfo& query = need.info(in::kQuery);
  const int64_t most_queries = need.max_of(query.dims[2]);
  const bool varies = !need.sizes.is_constant(query.dims[2]);
  // With fewer queries than lanes all lanes read the same query, which crashes Mesa 26's lavapipe if it is of bf16.
  const bool may_be_few = query.dtype != DType::BF16;
  const uint32_t lanes = need.device.subgroup_size, wanted = most_queries_of(lanes, heads.d_v),
                 most = may_be_few ? wanted : std::max(wanted, lanes);
  const KernelId id = kIds.of(query.dtype);
  if (may_be_few) candidates->add({id, {lanes, 1}, 0, most_queries == 1 || varies});
  candidates->add({id, {lanes, most}, 0, most_queries > 1 || !may_be_few});
}

void add_subgroups(const Select& select, const Heads& heads, const Candidate& candidate) {
  Vec4 known = Vec4::Always;
  for (const size_t input : {in::kQuery, in::kKey, in::kValue})
    known = worse(known, vec4_of(select, select.node.inputs[input]));
  const Cut& cut = candidate.cut;
  add_vec4_kernels(known, [&](bool vec4) -> KernelUse& {
    const uint32_t own[] = {cut.invocations, cut.queries};
    KernelUse& use = add(select, candidate.id, cut.invocations, heads, own,
                         cut.queries == 1 ? "fused, a subgroup per query, no barrier: a CPU runs this driver"
                                          : "fused, several queries per subgroup, no barrier: a CPU runs this driver");
    if (vec4) use.key.spec[kFlags] |= HEED_ATTENTION_VEC4;
    return use;
  });
}

}  // namespace heed::kernels::attention
