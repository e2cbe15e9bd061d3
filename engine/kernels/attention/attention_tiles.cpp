// Kernels with tiles of keys in shared memory, for every device: attention.comp.
#include <algorithm>

#include "kernels/attention/attention.hpp"

namespace heed::kernels::attention {
namespace {

// Tile sizes of attention.comp.
struct Tile {
  uint32_t invocations = 128;
  uint32_t lanes = 1;  // per query
  uint32_t tq = 1;     // queries per invocation
  uint32_t tk = 8;     // keys processed together
  uint32_t bk = 8;     // keys per tile

  uint32_t queries() const { return invocations / lanes * tq; }  // per workgroup
  uint32_t partials() const { return lanes > 1 ? invocations * tq * tk : 1; }
  uint32_t shared_bytes(const Heads& heads) const {
    using uint = uint32_t;
    const uint D_K = u32(heads.d_k), D_V = u32(heads.d_v), LANES = lanes, BK = bk, PARTIALS = partials();
    uint bytes = 4 * (HEED_KEPT_TURNS + HEED_STRANGE_TURNS);
#include "shared/attention_tiles_memory.inc"
    return bytes;
  }
};

constexpr uint32_t kManyInvocations = 128, kFewInvocations = 32;  // for many queries, and for few
// Elements of a query, and of an output, that a lane keeps in registers. With 64 of each, AMD's compilers of 2022 spill some on RDNA 3. For
// few queries, each gets more lanes, which would be idle otherwise.
constexpr int64_t kElementsPerLane = 40, kElementsPerLaneOfFew = 16;
// The same if an invocation has fewer than kManyRegisters. With more than kElementsBesideEight elements it keeps four logits at a time
// instead of eight.
constexpr int64_t kElementsPerLaneOfSmall = 32, kElementsBesideEight = 20;
// The same if an invocation has two queries and more than kManyRegisters.
constexpr int64_t kElementsPerLaneOfLarge = 64;
// The most keys of a tile if an invocation has two queries: compilers unroll loops over more keys, which needs registers.
constexpr uint32_t kKeysOfTwo = 8;
// A workgroup for many queries takes nearly as long as two for few: its invocations have more elements of a head each. With two queries per
// invocation it has twice as many, and reads keys and values from shared memory once for both: it takes 1.04 times as long if shared memory
// is the bottleneck, and twice as long if arithmetic is (tests/gpu/profile).
constexpr double kTimeOfFew = 1.0, kTimeOfMany = 1.95, kTimeOfTwo = 2.6;
// Fewer workgroups per core idle at barriers.
constexpr uint32_t kLeastGroupsOfTwo = 2;
// With more shared memory fewer workgroups would fit on a core.
constexpr uint32_t kSharedBytes = 16384;

Tile tile_for(const Heads& heads, uint32_t invocations, uint32_t queries, uint32_t registers) {
  Tile tile;
  tile.invocations = invocations;
  tile.tq = queries;
  const bool large = queries == 2 && registers > kManyRegisters;
  const int64_t most = large                                        ? kElementsPerLaneOfLarge
                       : invocations == kFewInvocations             ? kElementsPerLaneOfFew
                       : registers < kManyRegisters || queries == 2 ? kElementsPerLaneOfSmall
                                                                    : kElementsPerLane;
  const int64_t width = std::max(heads.d_k, heads.d_v);
  while (width > most * tile.lanes) tile.lanes *= 2;
  const bool eight = registers >= kManyRegisters || width <= kElementsBesideEight * tile.lanes;
  // Lanes synchronize once per tk keys, so a small tile with tk = 8 is preferred to a large one with tk = 4.
  const uint32_t keys = queries == 2 && !large ? kKeysOfTwo : 32;
  for (tile.bk = keys; eight && tile.bk >= std::min(keys, 16u); tile.bk -= 8)
    if (tile.shared_bytes(heads) <= kSharedBytes) return tile;
  tile.tk = 4;
  for (tile.bk = keys - 4; tile.bk > 4; tile.bk -= 4)
    if (tile.shared_bytes(heads) <= kSharedBytes) return tile;
  return tile;
}

constexpr ByStorage kTileIds = {KernelId::AttentionF32, KernelId::AttentionF16, KernelId::AttentionBf16};

const char* why_for(DType dtype, bool narrow, bool few) {
  if (narrow)
    return few ? "fused, for few queries; f32 storage beside narrower keys and values, f32 sums"
               : "fused, online softmax over key tiles; f32 storage beside narrower keys and values, f32 sums";
  constexpr WhyStorage kFew = HEED_WHY_STORAGE("fused, for few queries"),
                       kMany = HEED_WHY_STORAGE("fused, online softmax over key tiles");
  return (few ? kFew : kMany).of(dtype);
}

}  // namespace

void list_tiles(const AttentionQuery& attention, const char* without, bool for_few, Candidates* candidates) {
  const KernelId id = attention.narrow ? KernelId::AttentionF32Narrow : kTileIds.of(attention.dtype);
  if (!attention.device.allows(id)) return;
  struct Kind {
    uint32_t invocations, queries;  // per workgroup
  };
  const uint32_t registers = attention.device.registers;
  // Measured on lavapipe, where the invocations of a workgroup run sequentially between barriers.
  const uint32_t for_two = registers > kManyRegisters ? kFewInvocations : kManyInvocations;
  for (const auto& [invocations, queries] : {Kind{kManyInvocations, 1}, {for_two, 2}, {kFewInvocations, 1}}) {
    const bool two = queries == 2, few = !two && invocations == kFewInvocations;
    if ((few && !for_few) || (two && registers < kManyRegisters)) continue;
    const Tile tile = tile_for(attention.heads, invocations, queries, registers);
    double time = few ? kTimeOfFew : kTimeOfMany;
    // With two queries per invocation, a query may have more lanes, so that a workgroup does not get more queries.
    if (two)
      time = kTimeOfTwo * tile_for(attention.heads, kManyInvocations, 1, registers).lanes / tile.lanes * invocations /
             kManyInvocations;
    Candidate& one = add_queries(candidates, id, invocations, tile.queries());
    one.traits.group = time;
    if (few) one.most_split = tile.queries();
    one.set(TileSpec::LANES, tile.lanes).set(TileSpec::TQ, tile.tq).set(TileSpec::TK, tile.tk);
    one.set(TileSpec::BK, tile.bk).set(TileSpec::PARTIALS, tile.partials());
    if (two) {
      one.traits.least_groups = kLeastGroupsOfTwo * attention.device.cores;
      one.traits.most = keys_in_time(attention.device, attention.heads, one.key);
    }
    one.why = without != nullptr && !few ? without : why_for(attention.dtype, attention.narrow, few);
  }
}

}  // namespace heed::kernels::attention
