// The kernel of single subgroups, for software drivers: attention_subgroup.comp.
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
  return device.allows(kIds.of(dtype)) && device.software && device.subgroup_size == 8 &&
         device.subgroup_arithmetic && device.subgroup_shuffle;
}

bool is_subgroups(const KernelKey& key) { return kIds.has(key.id); }

void add_subgroups(const Select& select, const Heads& heads) {
  const SizeId queries = select.info(in::kQuery).dims[2];
  const int64_t most_queries = select.max_of(queries);
  const bool varies = !select.schedule.sizes.is_constant(queries);
  const uint32_t lanes = select.device.subgroup_size, most = most_queries_of(lanes, heads.d_v);
  Vec4 known = Vec4::Always;
  for (const size_t input : {in::kQuery, in::kKey, in::kValue})
    known = worse(known, vec4_of(select, select.node.inputs[input]));
  for (const uint32_t tq : {1u, most}) {
    if (tq == 1 ? most_queries > 1 && !varies : most_queries == 1) continue;
    add_vec4_kernels(known, [&](bool vec4) -> KernelUse& {
      const uint32_t own[] = {lanes, tq};
      KernelUse& use =
          add(select, kIds.of(select.out().dtype), lanes, heads, own,
              tq == 1 ? "fused, a subgroup per query, no barrier: a CPU runs this driver"
                      : "fused, several queries per subgroup, no barrier: a CPU runs this driver");
      if (vec4) use.key.spec[kFlags] |= HEED_ATTENTION_VEC4;
      return use;
    });
  }
}

}  // namespace heed::kernels::attention
