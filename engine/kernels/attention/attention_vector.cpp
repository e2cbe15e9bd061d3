// Kernels for few queries, which read keys and values directly into registers: attention_vector.comp.
#include <algorithm>
#include <bit>

#include "kernels/attention/attention.hpp"

namespace heed::kernels::attention {
namespace {

// A lane holds eight elements of a key, or more if subgroups are small.
constexpr int64_t kElementsPerVectorLane = 8;
// The most vectors of four query elements that it keeps in registers; the same number for sums.
constexpr uint32_t kHeldVecs = 8;
constexpr uint32_t kMostQueries = 4;
// Number of keys prefetched; fewer if an invocation has less than kManyRegisters.
constexpr uint32_t kKeys = 4, kKeysOfSmall = 1;
// The time of a workgroup, in the unit of Problem::cost, for groups kUsualLanes wide, and of each of its queries. Wider groups process
// proportionally more keys.
constexpr double kTime = 0.2, kTimeOfQuery = 0.03;
constexpr uint32_t kUsualLanes = 8;

constexpr ByStorage kVectorIds = {KernelId::AttentionF32Vector, KernelId::AttentionF16Vector,
                                  KernelId::AttentionBf16Vector};
constexpr KernelId kNarrowVector = KernelId::AttentionF32NarrowVector;

struct Shape {
  uint32_t lanes, vecs;

  Shape(const Heads& heads, uint32_t subgroup) {
    const int64_t width = std::max(heads.d_k, heads.d_v);
    lanes = std::min(std::bit_ceil(u32(ceil_div(width, kElementsPerVectorLane))),
                     std::bit_floor(std::min(subgroup, kInvocations)));
    vecs = u32(ceil_div<int64_t>(width, 4 * lanes));
  }
  uint32_t shared_bytes(const Heads& heads, uint32_t queries) const {
    using uint = uint32_t;
    const uint D_V = u32(heads.d_v), LANES = lanes, TQ = queries, INVOCATIONS = kInvocations;
    uint bytes = 0;
#include "shared/attention_vector_memory.inc"
    return bytes;
  }
};

}  // namespace

bool is_vector(KernelId id) { return kVectorIds.has(id) || id == kNarrowVector; }

bool list_vector(const AttentionQuery& attention, Candidates* candidates) {
  const Capabilities& device = attention.device;
  const KernelId id = attention.narrow ? kNarrowVector : kVectorIds.of(attention.dtype);
  if (!device.allows(id) || !device.subgroup_shuffle || device.slow_shuffle) return false;
  const Shape shape(attention.heads, device.subgroup_size);
  const uint32_t before = candidates->count, keys = device.registers < kManyRegisters ? kKeysOfSmall : kKeys;
  for (const uint32_t queries : {1u, kMostQueries}) {
    if (queries * shape.vecs > kHeldVecs || shape.shared_bytes(attention.heads, queries) > device.shared_bytes)
      continue;
    Candidate& one = add_queries(candidates, id, kInvocations, queries);
    one.traits.group = (kTime + kTimeOfQuery * queries) * std::max(shape.lanes, kUsualLanes) / kUsualLanes;
    one.set(VectorSpec::LANES, shape.lanes).set(VectorSpec::TQ, queries).set(VectorSpec::TK, keys);
    one.reads_vec4 = true;
    one.why = "fused, for few queries: keys and values are read once for all of them, straight to registers";
  }
  return candidates->count > before;
}

}  // namespace heed::kernels::attention
