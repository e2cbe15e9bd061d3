// Tiles of keys in shared memory, for every device: attention.comp.
#include <algorithm>

#include "kernels/attention.hpp"

namespace heed::kernels::attention {
namespace {

// How the kernel of attention.comp is cut.
struct Shape {
  uint32_t invocations = 128;
  uint32_t lanes = 1;  // per query
  uint32_t tq = 1;     // queries per invocation
  uint32_t tk = 8;     // keys at a time
  uint32_t bk = 8;     // keys per tile

  uint32_t queries() const { return invocations / lanes * tq; }  // per workgroup
  uint32_t partials() const { return lanes > 1 ? invocations * tq * tk : 1; }
  // Four elements of one key or value, of every lane.
  uint32_t row_bytes(int64_t size) const { return static_cast<uint32_t>(align_up<int64_t>(size, 4 * lanes)) * 4; }
  uint32_t shared_bytes(const Heads& heads) const {
    return bk * (row_bytes(heads.d_k) + row_bytes(heads.d_v)) + partials() * 4 + 12;
  }
};

constexpr uint32_t kManyInvocations = 128, kFewInvocations = 32;  // for many queries, for few
// An invocation keeps its part of a query and of an output in registers. Of 64 elements each, AMD's compilers of 2022 spill
// some on RDNA 3. Few queries have more lanes each, since they would leave most of them idle otherwise.
constexpr int64_t kElementsPerLane = 40, kElementsPerLaneOfFew = 16;
// More would let fewer workgroups share a core.
constexpr uint32_t kSharedBytes = 16384;

Shape shape_for(const Heads& heads, uint32_t invocations) {
  Shape shape;
  shape.invocations = invocations;
  const int64_t elements = invocations == kFewInvocations ? kElementsPerLaneOfFew : kElementsPerLane;
  while (std::max(heads.d_k, heads.d_v) > elements * shape.lanes) shape.lanes *= 2;
  // Lanes wait for each other once per TK keys: rather eight of few than four of many.
  for (shape.bk = 32; shape.bk >= 16; shape.bk -= 8)
    if (shape.shared_bytes(heads) <= kSharedBytes) return shape;
  shape.tk = 4;
  for (shape.bk = 28; shape.bk > 4; shape.bk -= 4)
    if (shape.shared_bytes(heads) <= kSharedBytes) return shape;
  return shape;
}

constexpr ByStorage kIds = {KernelId::AttentionF32, KernelId::AttentionF16, KernelId::AttentionBf16};

const char* why_for(DType dtype, bool few) {
  constexpr WhyStorage kFew = HEED_WHY_STORAGE("fused, for few queries"),
                       kMany = HEED_WHY_STORAGE("fused, online softmax over key tiles");
  return (few ? kFew : kMany).of(dtype);
}

}  // namespace

bool allows_tiles(const Capabilities& device, DType dtype) { return device.allows(kIds.of(dtype)); }

int64_t few_queries(const Heads& heads) { return shape_for(heads, kFewInvocations).queries(); }

void list_tiles(const Need& need, const Heads& heads, bool usual, bool only_few, Candidates* candidates) {
  const TensorInfo& query = need.info(in::kQuery);
  const KernelId id = kIds.of(query.dtype);
  const uint32_t wide = shape_for(heads, kManyInvocations).queries(),
                 narrow = shape_for(heads, kFewInvocations).queries();
  const int64_t most = need.max_of(query.dims[2]);
  const bool varies = !need.sizes.is_constant(query.dims[2]);
  candidates->add({id, {kManyInvocations, wide}, 0, usual && most > narrow && !only_few});
  candidates->add({id, {kFewInvocations, narrow, narrow}, 0, usual && (most <= narrow || varies)});
}

void add_tiles(const Select& select, const Heads& heads, const Candidate& candidate, const char* without) {
  const DType dtype = select.out().dtype;
  const Cut& cut = candidate.cut;
  const bool few = cut.invocations == kFewInvocations;
  const Shape shape = shape_for(heads, cut.invocations);
  const uint32_t own[] = {shape.lanes, shape.tq, shape.tk, shape.bk, shape.partials()};
  add_with_splits(select, cut,
                  add(select, candidate.id, shape.invocations, heads, own,
                      without != nullptr && !few ? without : why_for(dtype, few)));
}

}  // namespace heed::kernels::attention
