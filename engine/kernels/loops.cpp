#include "kernels/loops.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/arith.hpp"
#include "base/logging.hpp"
#include "kernels/params.hpp"
#include "shared/attention_matrix.h"
#include "shared/attention_tiles.h"
#include "shared/attention_vector.h"
#include "shared/matmul_tiles.h"

namespace heed::kernels {
namespace {

// An upper bound for loops whose length does not depend on sizes: tree reductions of lanes, dimensions, elements of one invocation.
constexpr int64_t kSmall = 128;

struct Launch {
  const KernelKey& key;
  const Dispatch& dispatch;

  template <class Params>
  Params push() const {
    Params params;
    std::memcpy(&params, dispatch.push.data(), sizeof params);
    return params;
  }
  int64_t spec(size_t constant) const { return key.spec[constant]; }
  int64_t invocations() const { return spec(0) * spec(1) * spec(2); }
};

// A loop over `count`, `step` at a time.
int64_t loop(int64_t count, int64_t step) { return ceil_div(count, std::max<int64_t>(step, 1)) + 1; }

// Loops over rows with lanes along x.
int64_t rows(const Launch& l, const KernelInfo& info) {
  uint32_t length = 0;
  std::memcpy(&length, l.dispatch.push.data() + info.length_at, sizeof length);
  return info.walks * loop(length, l.spec(0));
}

// Three loops over groups of four; none if a lane holds its groups in registers.
int64_t row_groups(const Launch& l, int64_t n) {
  return l.spec(RowGroupConstants::HELD) != 0 ? 0 : 3 * loop(n, 4 * l.spec(0));
}
template <class Params>
int64_t norm(const Launch& l) {
  return row_groups(l, l.push<Params>().n);
}
int64_t softmax(const Launch& l) { return row_groups(l, l.push<SoftmaxParams>().dim[3]); }

// LogSumExp and L2 first find the largest element; a cumulative sum combines neighbours as often as their number can be halved.
int64_t reduce(const Launch& l) {
  const int64_t walk = loop(l.push<ReduceParams>().n, l.spec(1)), kind = l.spec(ReduceConstants::KIND);
  const int64_t neighbours = std::bit_width(static_cast<uint64_t>(l.spec(1)));
  return kind == HEED_REDUCE_LOG_SUM_EXP || kind == HEED_REDUCE_L2 ? 2 * walk
         : kind == HEED_REDUCE_CUMSUM                              ? (1 + neighbours) * walk
                                                                   : walk;
}
int64_t argmax(const Launch& l) {
  const auto p = l.push<ArgmaxParams>();
  return (p.end - p.begin) * (loop(p.n, l.spec(1)) + 10);
}
int64_t norm_sums(const Launch& l) { return loop(l.push<NormBackwardSumsParams>().rows, l.spec(1)); }
int64_t norm_factors(const Launch& l) { return loop(l.push<GradientNormCombineParams>().sums, l.spec(0)); }

int64_t embedding_backward(const Launch& l) {
  const auto p = l.push<EmbeddingBackwardParams>();
  return loop(p.end - p.begin, 1);
}

int64_t rotary(const Launch& l) {
  const auto p = l.push<RotaryParams>();
  return loop(p.pairs, l.spec(0)) + loop(p.n - 2 * p.pairs, l.spec(0));
}

// Loops for up to four digits of a key and those of an index, for each of top-k, top-p and the draw, after one for the largest key.
int64_t sample(const Launch& l) {
  constexpr int64_t kBins = 1 << HEED_SAMPLE_DIGIT, kGroup = 16, kSeenWords = 1024, kSegment = 32 * kSeenWords;
  const auto p = l.push<SampleParams>();
  const int64_t lanes = l.spec(0);
  const bool previous = l.spec(SampleConstants::PREVIOUS) != 0;
  const int64_t segments = previous ? ceil_div<int64_t>(p.n, kSegment) : 1;
  const int64_t marks = previous ? loop(kSeenWords, lanes) + loop(p.previous, lanes) : 1;
  const int64_t walk = segments * (marks + 2) + ceil_div<int64_t>(p.n, lanes) + loop(kBins, lanes);
  const int64_t bins = loop(kBins / kGroup, lanes) * (kGroup + 2) + 2 * (kBins / kGroup + kGroup + 2);
  const int64_t digits = ceil_div<int64_t>(32, HEED_SAMPLE_DIGIT) + loop(p.index_bits, HEED_SAMPLE_DIGIT);
  return walk + 3 * digits * (walk + bins);
}

// --- Matmul

int64_t matmul_tiles(const Launch& l) {
  const int64_t bk = l.spec(MatmulTileConstants::BK);
  return loop(l.push<MatmulParams>().k, bk) * (1 + loop(bk, 4)) + loop(l.spec(MatmulTileConstants::TM), 1);
}
// If b is contiguous along n, an eighth of the invocations share each k, four at a time.
int64_t matmul_vector(const Launch& l) {
  const int64_t steps = l.invocations() / 8;
  return loop(l.push<MatmulParams>().k, 4 * steps) + 8 * loop(steps, 1);
}
int64_t matmul_sum(const Launch& l) { return loop(l.push<MatmulParams>().k, 1); }
// Matrix units and dot products of bytes: blocks of at least 16 k, with at most 14 iterations within.
int64_t matmul_blocks(const Launch& l) { return 15 * loop(l.push<MatmulParams>().k, 16) + kSmall; }

int64_t projection(const Launch& l) {
  const bool around_mean = (l.spec(ProjectionConstants::FLAGS) & HEED_PROJECTION_MEAN) != 0;
  const int64_t walks = l.spec(ProjectionConstants::BM) * (around_mean ? 2 : 1) + 1;
  return walks * loop(l.spec(ProjectionConstants::K), 4 * l.invocations());
}

// --- Attention

// The number of key tiles of size `tile` that a workgroup with this many queries visits.
int64_t tiles_of(const Launch& l, const AttentionParams& p, int64_t queries, int64_t tile) {
  const int64_t flags = l.spec(AttentionConstants::FLAGS), window = l.spec(AttentionConstants::WINDOW);
  int64_t keys = p.s_kv;
  if (window != 0 && (flags & HEED_SOFTMAX_FILL) == 0) keys = std::min(keys, window + queries);
  const int64_t splits = (flags & HEED_ATTENTION_PARTIAL) != 0 ? (p.heads_splits >> 24) + 1 : 1;
  return ceil_div(keys, splits * tile);
}
int64_t fours_of(int64_t width, int64_t lanes) { return ceil_div(width, 4 * lanes) * lanes; }

int64_t attention_tiles(const Launch& l) {
  using Tiles = AttentionTileConstants;
  const int64_t all = l.invocations(), lanes = l.spec(Tiles::LANES), bk = l.spec(Tiles::BK), tk = l.spec(Tiles::TK);
  const int64_t rows = loop(bk * fours_of(l.spec(AttentionConstants::D_K), lanes), all) +
                       loop(bk * fours_of(l.spec(AttentionConstants::D_V), lanes), all) + loop(bk, all);
  // Infinite values and NaN are added one by one if keys are hidden.
  const int64_t tile = 1 + rows + loop(bk, tk) + bk / tk * loop(tk, 1);
  return tile * (1 + tiles_of(l, l.push<AttentionParams>(), all / lanes * l.spec(Tiles::TQ), bk));
}

int64_t attention_vector(const Launch& l) {
  using Vector = AttentionVectorConstants;
  const int64_t groups = l.invocations() / l.spec(Vector::LANES), queries = l.spec(Vector::TQ);
  const int64_t results = loop(queries * fours_of(l.spec(AttentionConstants::D_V), 1), l.invocations());
  return loop(tiles_of(l, l.push<AttentionParams>(), queries, groups * l.spec(Vector::TK)), 1) +
         results * (1 + 2 * loop(groups, 1));
}

// Tiles of at least 16 keys, with at most 24 iterations within.
int64_t attention_matrix(const Launch& l) {
  const int64_t bk = l.spec(AttentionMatrixConstants::BK);
  return 25 * loop(tiles_of(l, l.push<AttentionParams>(), 4 * l.invocations(), bk), 1) + 4 * kSmall;
}

int64_t attention_combine(const Launch& l) { return 2 * loop(l.push<AttentionCombineParams>().splits, 1); }

// The iterations for each block of rows that a workgroup visits.
struct Visits {
  int64_t own, visit, k_fours, v_fours, all;
  explicit Visits(const KernelKey& key)
      : own(key.spec[AttentionBackwardConstants::OWN]),
        visit(key.spec[AttentionBackwardConstants::VISIT]),
        k_fours(fours_of(key.spec[AttentionBackwardConstants::D_K], 1)),
        v_fours(fours_of(key.spec[AttentionBackwardConstants::D_V], 1)),
        all(key.spec[0]) {}

  int64_t load(int64_t count) const {
    return loop(count * k_fours, all) + loop(count * v_fours, all) + loop(count, all);
  }
  // Products of pairs; loops over the elements of short heads are unrolled.
  int64_t pairs() const {
    constexpr int64_t kUnrolled = 32;
    return (k_fours > kUnrolled ? loop(k_fours, 1) : 0) + (v_fours > kUnrolled ? loop(v_fours, 1) : 0);
  }
  // Adding up the visited rows, of which an invocation has some, one by one or all at once.
  int64_t add(int64_t fours) const {
    return (128 % fours == 0 ? 1 : ceil_div<int64_t>(own * fours, 128)) * loop(visit, 1);
  }
};

// The iterations for each visited block, and those outside the loop over blocks.
int64_t of_block(const KernelKey& key) {
  const Visits b(key);
  const bool owns_keys = key.spec[AttentionBackwardConstants::OWNS_KEYS] != 0;
  return 1 + b.load(b.visit) + b.pairs() + b.add(b.k_fours) + (owns_keys ? b.add(b.v_fours) : 0);
}
int64_t beside_blocks(const KernelKey& key) {
  const Visits b(key);
  return b.load(b.own) + loop(b.own, b.all) * loop(b.v_fours, 1);
}
int64_t heads_of(const KernelKey& key) {
  return key.spec[AttentionBackwardConstants::OWNS_KEYS] != 0 ? key.spec[AttentionBackwardConstants::GROUP] : 1;
}

int64_t attention_backward(const Launch& l) {
  using Constants = AttentionBackwardConstants;
  const auto p = l.push<AttentionBackwardParams>();
  const int64_t all = l.spec(Constants::OWNS_KEYS) != 0 ? p.s_q : p.s_kv;
  const int64_t visited = std::min<int64_t>(all - p.begin, l.spec(Constants::AT_ONCE));
  return heads_of(l.key) * (1 + loop(visited, l.spec(Constants::VISIT)) * of_block(l.key)) + beside_blocks(l.key);
}

int64_t attention_backward_bias(const Launch& l) {
  const auto p = l.push<AttentionBackwardParams>();
  const Visits b(l.key);
  const int64_t sums = l.spec(AttentionBackwardConstants::SUMS);
  const auto over = [&](int64_t bit, int64_t count, int64_t step) { return (sums & bit) != 0 ? loop(count, step) : 2; };
  const int64_t block = 1 + b.load(b.own) + b.load(b.visit) + b.pairs();
  int64_t all = over(8, p.s_kv, b.own) * block;
  for (const int64_t outer : {over(4, p.s_q, b.visit), over(2, p.heads, 1), over(1, p.batches, 1)})
    if (!checked_mul(all + 1, outer, &all)) return INT64_MAX;
  return all + loop(b.own * b.visit, b.all) * (loop(b.visit, 1) * loop(b.own, 1));
}

int64_t attention_backward_rows(const Launch& l) { return loop(l.push<AttentionBackwardRowsParams>().d_v, 1); }

// The number of iterations depends on no size.
int64_t as_all(const Launch&) { return 0; }

// Counts the loops of kernels whose name starts with `begins` and contains `has` after it; the first matching family counts. Kernels with
// loops over rows are counted by walks= in variants.txt instead. A kernel in neither list is refused on every device.
struct Family {
  std::string_view begins, has;
  int64_t (*rounds)(const Launch& l);
};
constexpr Family kFamilies[] = {
    {"argmax", "", argmax},
    {"attention_backward_bias", "", attention_backward_bias},
    {"attention_backward_rows", "", attention_backward_rows},
    {"attention_backward", "", attention_backward},
    {"attention_combine", "", attention_combine},
    {"attention", "_vector", attention_vector},
    {"attention", "_matrix", attention_matrix},
    {"attention", "", attention_tiles},
    {"copy", "", as_all},
    {"dropout", "", as_all},
    {"elementwise", "", as_all},
    {"embedding_backward", "", embedding_backward},
    {"gradient_norm_combine", "", norm_factors},
    {"gradient_norm", "", as_all},
    {"l2_normalize", "", norm<L2NormalizeParams>},
    {"layernorm", "", norm<NormParams>},
    {"matmul", "_vector", matmul_vector},
    {"matmul", "_sum", matmul_sum},
    {"matmul", "_dot", matmul_blocks},
    {"matmul", "_bytes", matmul_blocks},
    {"matmul", "_matrix", matmul_blocks},
    {"matmul", "", matmul_tiles},
    {"norm_backward_sums", "", norm_sums},
    {"program", "", as_all},
    {"projection", "", projection},
    {"reduce", "", reduce},
    {"rmsnorm", "", norm<NormParams>},
    {"rotary", "", rotary},
    {"sample", "", sample},
    {"slice_backward", "", as_all},
    {"softmax", "", softmax},
    {"update", "", as_all},
};

const Family* family_of(std::string_view name) {
  for (const Family& family : kFamilies)
    if (name.starts_with(family.begins) && name.find(family.has, family.begins.size()) != std::string_view::npos)
      return &family;
  return nullptr;
}

}  // namespace

int64_t visits_at_once(const KernelKey& key) {
  const int64_t most = (kRoundsAtOnce - beside_blocks(key)) / heads_of(key);
  return std::max<int64_t>((most - 1) / of_block(key) - 1, 1);
}

int64_t rounds_of(const KernelKey& key, const Dispatch& dispatch) {
  if (key.custom != nullptr) return 0;  // the host is responsible
  const KernelInfo& info = kernel_info(key.id);
  if (info.walks != 0) return kSmall + rows({key, dispatch}, info);
  const Family* const family = family_of(info.name);
  return family == nullptr ? INT64_MAX : kSmall + family->rounds({key, dispatch});
}

bool counts_rounds(KernelId id) { return kernel_info(id).walks != 0 || family_of(kernel_info(id).name) != nullptr; }

Status check_rounds(const Schedule& schedule, const Node& node, const Capabilities& device, const Log& log,
                    const KernelList& kernels, const RunValues& at) {
  const int64_t most = std::min(device.most_rounds, kMostRounds);
  const auto list = std::make_unique<DispatchList>();  // too large for small stacks
  emit_dispatches(schedule, node, device, kernels, at, list.get());
  for (uint32_t d = 0; d < list->count; ++d) {
    const KernelKey& key = kernels.uses[list->dispatches[d].kernel].key;
    const int64_t rounds = rounds_of(key, list->dispatches[d]);
    if (rounds > most)
      return fail(
          log, Status::Unsupported,
          format("%s %s: an invocation of %s would go through loops up to %lld times; %s %lld%s. Split the axis in the "
                 "graph, lower the largest extent, or run this graph on the CPU device",
                 to_string(node.op), node.label.c_str(), kernel_name(key), static_cast<long long>(rounds),
                 most == kLlvmpipeRounds ? "llvmpipe ends loops after" : "heed allows", static_cast<long long>(most),
                 most == kLlvmpipeRounds ? " without an error, with wrong results" : ""));
  }
  return Status::Ok;
}

}  // namespace heed::kernels
