// Kernels of attention on matrix units: attention_matrix.comp.
#include <algorithm>

#include "kernels/attention/attention.hpp"
#include "kernels/choose/matrix_units.hpp"

namespace heed::kernels::attention {
namespace {

// A subgroup with fewer invocations, or Intel's, has fewer registers in total, and uses tall tiles only for narrower heads.
constexpr uint32_t kLanes = 32;

// A workgroup is waves_m x waves_n subgroups. The waves_n subgroups of a row share wm queries; a tile has bk keys.
struct MatrixTile {
  uint32_t waves_m, waves_n, wm, bk;
  double start, each;       // time of a run, and of each query: see Problem::cost
  int64_t widest_head;      // wider heads would need too many registers
  int64_t widest_of_fewer;  // the same for subgroups with fewer registers

  uint32_t queries() const { return waves_m * wm; }
  uint32_t waves() const { return waves_m * waves_n; }
  bool suits(const Heads& heads, bool fewer) const {
    return std::max(heads.d_k, heads.d_v) <= (fewer ? widest_of_fewer : widest_head);
  }
};
// These kernels take longer to start than attention.comp does for few queries, and less time per query than it does for many. With these
// times the larger tile is preferred unless most of it would be padding, or, for tall ones, cores would be idle.
constexpr uint32_t kTall = 32;          // queries of a subgroup
constexpr int64_t kWidestOfIntel = 64;  // heads of tiles for has_short_tiles
constexpr MatrixTile kMatrixTiles[] = {
    {4, 1, kTall, 32, 1.60, 0.0008, 64, 32},  // 32 rows of matrix units use every key and value in shared memory
    {4, 1, 16, 32, 1.62, 0.0010, 128, 128},
    {2, 2, 16, 32, 1.64, 0.0015, 256, 256},                       // two subgroups share the outputs of wide heads
    {2, 1, 16, 16, 1.66, 0.0020, 256, 256},                       // less shared memory
    {2, 2, 8, 16, 1.70, 0.0018, 256, 256},                        // for matrix units with eight rows
    {4, 1, 8, 16, 1.72, 0.0019, kWidestOfIntel, kWidestOfIntel},  // and with 16 columns: Intel's
};

// Whether Intel's registers hold the values of a subgroup that has the rows of one fragment, and as many lanes as a fragment has columns. With
// wider heads ANV spills in any tile, least in those of more rows and lanes.
bool has_short_tiles(const Capabilities& device, const MatrixSize& size, const Heads& heads) {
  return is_intel(device, size) && std::max(heads.d_k, heads.d_v) <= kWidestOfIntel;
}

// The most words of queries that an invocation keeps in registers. Beyond that, every tile reads queries from shared memory.
constexpr int64_t kMostHeldWords = 32;

struct Fit {
  const MatrixTile& tile;
  const MatrixSize& size;
  const Heads& heads;
  uint32_t lanes, terms;

  bool hold_queries() const {
    const int64_t padded = align_up<int64_t>(heads.d_k, std::max(size.k, 8u));
    return tile.wm * padded / 2 <= kMostHeldWords * lanes;
  }

  uint32_t shared_bytes() const {
    using uint = uint32_t;
    const uint D_K = u32(heads.d_k), D_V = u32(heads.d_v), WAVES_M = tile.waves_m, WAVES_N = tile.waves_n, WM = tile.wm,
               BK = tile.bk, NS = size.n, KS = size.k, LANES = lanes, TERMS = terms;
    const bool HOLD_Q = hold_queries();
    uint bytes = 4 * HEED_STRANGE_TURNS;
#include "shared/attention_matrix_memory.inc"
    return bytes;
  }
  // Whether all sizes are whole fragments, aligned to vectors of eight halves, and each invocation gets at least four logits of a row in
  // the softmax.
  bool divides() const {
    const uint32_t rows = tile.wm / tile.waves_n, row_lanes = std::max(lanes / rows, 1u);
    return (size.m | size.n | size.k) % 8 == 0 && tile.wm % size.m == 0 && tile.bk % size.m == 0 &&
           tile.bk % (size.n * tile.waves_n) == 0 && tile.bk % size.k == 0 && row_lanes * 4 <= tile.bk &&
           rows * row_lanes % lanes == 0;
  }
};

// Sizes for one element type on matrix units. A weight is stored as one f16, or as the sum of two bf16.
struct Type {
  KernelId id;
  uint32_t terms;
  const char *why, *no_size, *failed, *no_shuffle, *no_memory, *no_registers;
};
#define HEED_NOT_ON_MATRIX_UNITS(type, reason) \
  "fused, online softmax over key tiles; " type " storage, f32 sums; not on matrix units: " reason
#define HEED_MATRIX_TYPE(id, terms, type, weights)                                                 \
  {id,                                                                                             \
   terms,                                                                                          \
   "fused, on matrix units, online softmax over key tiles; " type " storage, " weights "f32 sums", \
   HEED_NOT_ON_MATRIX_UNITS(type, "they have no size for " type),                                  \
   HEED_NOT_ON_MATRIX_UNITS(type, "failed the self-test"),                                         \
   HEED_NOT_ON_MATRIX_UNITS(type, "no subgroup shuffles"),                                         \
   HEED_NOT_ON_MATRIX_UNITS(type, "too little shared memory"),                                     \
   HEED_NOT_ON_MATRIX_UNITS(type, "too few registers")}
constexpr Type kHalf = HEED_MATRIX_TYPE(KernelId::AttentionF16Matrix, 1, "f16", ""),
               kBfloat = HEED_MATRIX_TYPE(KernelId::AttentionBf16Matrix, 2, "bf16", "weights as two summands, ");

}  // namespace

bool is_matrix(const KernelKey& key) { return key.id == kHalf.id || key.id == kBfloat.id; }

const char* list_matrix(const AttentionQuery& attention, Candidates* candidates) {
  const Capabilities& device = attention.device;
  if (device.matrix.m == 0 || !is_16_bit_float(attention.dtype)) return nullptr;
  const Type& type = attention.dtype == DType::BF16 ? kBfloat : kHalf;
  const MatrixSize& size = attention.dtype == DType::BF16 ? device.bfloat_matrix : device.matrix;
  if (size.m == 0) return type.no_size;
  if (!device.allows(type.id)) return type.failed;
  if (!device.subgroup_shuffle) return type.no_shuffle;
  const double slower = device.matrix_always ? kAlways : 1;
  // Fragments with 8 columns spill in every tile, so that attention.comp is faster by the model (tests/gpu/profile).
  if (is_intel(device, size) && size.n < 16) return type.no_registers;
  const bool is_short = has_short_tiles(device, size, attention.heads);
  const uint32_t lanes = is_short ? subgroup_of(device, size) : device.matrix_subgroup;
  const bool fewer = lanes < kLanes || device.registers < kManyRegisters;
  for (const MatrixTile& tile : kMatrixTiles) {
    const Fit fit = {tile, size, attention.heads, lanes, type.terms};
    if (!tile.suits(attention.heads, fewer) || !fit.divides() || fit.shared_bytes() > device.shared_bytes ||
        tile.waves() * lanes > device.max_invocations || (is_short && tile.wm > size.m))
      continue;
    Candidate& one = add_queries(candidates, type.id, tile.waves() * lanes, tile.queries());
    one.reads_vec4 = one.traits.octets = true;
    one.traits.start = tile.start * slower;
    one.traits.group = tile.each * tile.queries() * slower;
    if (tile.wm == kTall) one.traits.least_groups = device.cores;
    one.set(MatrixSpec::WAVES_M, tile.waves_m)
        .set(MatrixSpec::WAVES_N, tile.waves_n)
        .set(MatrixSpec::WM, tile.wm)
        .set(MatrixSpec::BK, tile.bk);
    one.set(MatrixSpec::MS, size.m)
        .set(MatrixSpec::NS, size.n)
        .set(MatrixSpec::KS, size.k)
        .set(MatrixSpec::LANES, fit.lanes)
        .set(MatrixSpec::HOLD_Q, fit.hold_queries());
    one.key.subgroup = lanes;
    one.why = type.why;
  }
  if (candidates->count > 0) return nullptr;
  return type.no_memory;
}

}  // namespace heed::kernels::attention
