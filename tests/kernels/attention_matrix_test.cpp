// Which attention runs on matrix units, and how it is split there.

#include "kernels/attention/attention.hpp"
#include "kernels/lowered.hpp"

namespace heed::kernel_tests {
namespace {

using namespace kernels::attention;

struct Units {
  MatrixSize size;
  uint32_t subgroup, shared_bytes;
};

Capabilities device_with(const Units& units) {
  Capabilities device = device_with_units();
  device.matrix = device.bfloat_matrix = units.size;
  device.matrix_subgroup = units.subgroup;
  device.shared_bytes = units.shared_bytes;
  return device;
}

// Constants of a kernel, under the names in attention_matrix.comp.
struct Constants {
  uint32_t d_k, d_v, waves_m, waves_n, wm, bk, ms, ns, ks, lanes, hold_q;
  explicit Constants(const KernelKey& key)
      : d_k(key.spec[Spec::D_K]),
        d_v(key.spec[Spec::D_V]),
        waves_m(key.spec[MatrixSpec::WAVES_M]),
        waves_n(key.spec[MatrixSpec::WAVES_N]),
        wm(key.spec[MatrixSpec::WM]),
        bk(key.spec[MatrixSpec::BK]),
        ms(key.spec[MatrixSpec::MS]),
        ns(key.spec[MatrixSpec::NS]),
        ks(key.spec[MatrixSpec::KS]),
        lanes(key.spec[MatrixSpec::LANES]),
        hold_q(key.spec[MatrixSpec::HOLD_Q]) {}
};

void check_cut(const KernelKey& key, const Capabilities& device) {
  const Constants c(key);
  const uint32_t rows = c.wm / c.waves_n, row_lanes = c.lanes > rows ? c.lanes / rows : 1;
  if (c.d_k % 16 < 2) REQUIRE(shared_bytes(key) <= device.shared_bytes);
  REQUIRE(key.subgroup == device.matrix_subgroup);
  REQUIRE(c.lanes == key.subgroup);
  REQUIRE(key.spec[0] == c.waves_m * c.waves_n * c.lanes);
  REQUIRE(key.spec[0] <= device.max_invocations);
  REQUIRE(c.bk <= 32);
  for (const uint32_t step : {c.ms, c.ks, c.ns * c.waves_n, 4 * row_lanes}) REQUIRE(c.bk % step == 0);
  REQUIRE(c.wm % c.ms == 0);
  REQUIRE(rows * row_lanes % c.lanes == 0);
}

Graph graph_of(DType type, int64_t queries, int64_t keys, int64_t d_k, int64_t d_v) {
  Graph g;
  const Tensor q = g.input("q", {2, 3, queries, d_k}, type), k = g.input("k", {2, 3, keys, d_k}, type),
               v = g.input("v", {2, 3, keys, d_v}, type);
  g.output("y", g.attention(q, k, v).output);
  return g;
}

TEST_CASE("attention on matrix units fits the device at every head size", "[kernels][matrix]") {
  const Units rows[] = {{{16, 16, 16}, 32, 65536}, {{16, 16, 16}, 64, 65536}, {{16, 16, 16}, 32, 49152},
                        {{16, 8, 16}, 32, 49152},  {{8, 16, 16}, 16, 65536},  {{8, 8, 8}, 8, 32768},
                        {{8, 8, 8}, 8, 16384},     {{16, 16, 16}, 32, 16384}, {{16, 16, 16}, 128, 32768}};
  for (const Units& units : rows) {
    const Capabilities device = device_with(units);
    size_t fitting = 0;
    for (int64_t d = 1; d <= 256; ++d)
      for (const int64_t d_v : {d, 257 - d})
        for (const auto& [type, queries] :
             {std::pair<DType, int64_t>{DType::F16, 64}, {DType::F16, 500}, {DType::BF16, 500}}) {
          INFO(to_string(type) << ", " << units.size.m << "x" << units.size.n << "x" << units.size.k << ", "
                               << units.subgroup << " lanes, heads of " << d << " and " << d_v);
          Lowered lowered(graph_of(type, queries, 40, d, d_v), false, device);
          const auto [kernels, dispatches] = lowered.lower(Op::Attention);
          const KernelUse& use = kernels.uses[dispatches.dispatches[0].kernel];
          if (!is_matrix(use.key)) {
            REQUIRE(std::string_view(use.why).find("not on matrix units: too little shared memory") !=
                    std::string_view::npos);
            continue;
          }
          ++fitting;
          check_cut(use.key, device);
          const Constants c(use.key);
          const int64_t per_group = c.waves_m * c.wm;
          const auto& groups = dispatches.dispatches[0].groups;
          REQUIRE(int64_t{groups[0]} * groups[1] * groups[2] >= 6 * ((queries + per_group - 1) / per_group));
        }
    // A device with 64 KiB of shared memory supports all head sizes.
    CHECK(fitting > (units.shared_bytes == 65536 ? 1535u : 0u));
  }
}

TEST_CASE("attention gives a subgroup 32 queries where it has registers for them", "[kernels][matrix]") {
  for (const auto& [registers, queries] : {std::pair<uint32_t, uint32_t>{kManyRegisters, 32}, {128, 8}}) {
    Capabilities device = device_with({{8, 16, 16}, 32, 65536});
    device.registers = registers;
    Lowered lowered(graph_of(DType::F16, 4096, 4096, 64, 64), false, device);
    const auto [kernels, dispatches] = lowered.lower(Op::Attention);
    const Constants c(kernels.uses[dispatches.dispatches[0].kernel].key);
    CHECK(c.wm == queries);
  }
}

TEST_CASE("attention leaves Intel's registers for operands", "[kernels][matrix]") {
  struct Row {
    uint32_t columns;
    int64_t width;
    uint32_t queries, lanes;  // of a subgroup; 0: not on matrix units
  };
  for (const auto& [columns, width, queries, lanes] :
       {Row{16, 64, 8, 16}, {16, 65, 16, 32}, {16, 128, 16, 32}, {8, 64, 0, 0}}) {
    INFO(columns << " columns, heads of " << width);
    Capabilities device = device_with({{8, columns, 16}, 32, 65536});
    device.registers = 128;
    Lowered lowered(graph_of(DType::F16, 4096, 4096, width, width), false, device);
    const auto [kernels, dispatches] = lowered.lower(Op::Attention);
    const KernelUse& use = kernels.uses[dispatches.dispatches[0].kernel];
    REQUIRE(is_matrix(use.key) == (queries != 0));
    if (queries == 0) {
      CHECK(std::string_view(use.why).find("too few registers") != std::string_view::npos);
      continue;
    }
    CHECK(use.key.subgroup == lanes);
    CHECK(Constants(use.key).wm == queries);
  }
}

TEST_CASE("attention uses matrix units for many queries of f16, and of bf16 where they have it", "[kernels][matrix]") {
  struct Row {
    DType type;
    int64_t queries;
    bool bfloat, shuffles, failed, matrix;
    const char* why;
  };
  const Row rows[] = {
      {DType::F16, 500, false, true, false, true, "on matrix units, online softmax over key tiles; f16 storage"},
      {DType::F16, 1, true, true, false, false, "for few queries"},
      {DType::F32, 500, true, true, false, false, "f32 storage"},
      {DType::F16, 500, true, false, false, false, "f16 storage, f32 sums; not on matrix units: no subgroup shuffles"},
      {DType::F16, 500, true, true, true, false, "not on matrix units: failed the self-test"},
      {DType::BF16, 500, true, true, false, true, "on matrix units, online softmax over key tiles; bf16 storage"},
      {DType::BF16, 500, false, true, false, false,
       "bf16 storage, f32 sums; not on matrix units: they have no size for bf16"},
      {DType::BF16, 500, true, true, true, false, "not on matrix units: failed the self-test"}};
  for (const Row& row : rows) {
    Capabilities device = device_with({{16, 16, 16}, 32, 65536});
    if (!row.bfloat) device.bfloat_matrix = {};
    device.subgroup_shuffle = row.shuffles;
    for (const KernelId id : {KernelId::AttentionF16Matrix, KernelId::AttentionBf16Matrix})
      device.disabled[static_cast<size_t>(id)] = row.failed;
    Lowered lowered(graph_of(row.type, row.queries, 40, 64, 64), false, device);
    const auto [kernels, dispatches] = lowered.lower(Op::Attention);
    const KernelUse& use = kernels.uses[dispatches.dispatches[0].kernel];
    INFO(use.why);
    for (uint32_t i = 0; i < kernels.count; ++i) CHECK(is_matrix(kernels.uses[i].key) == row.matrix);
    CHECK(std::string_view(use.why).find(row.why) != std::string_view::npos);
  }
}

TEST_CASE("attention on matrix units reads eight elements at a time where all operands are aligned to that",
          "[kernels][matrix]") {
  const Capabilities device = device_with({{16, 16, 16}, 32, 65536});
  for (const int64_t d : {64, 68}) {
    Lowered lowered(graph_of(DType::F16, 500, 40, d, 64), false, device);
    const auto [kernels, dispatches] = lowered.lower(Op::Attention);
    const KernelUse& use = kernels.uses[dispatches.dispatches[0].kernel];
    INFO("keys of " << d);
    CHECK(is_matrix(use.key));
    CHECK(((use.key.spec[Spec::FLAGS] & HEED_ATTENTION_VEC4) != 0) == (d % 8 == 0));
  }
}

TEST_CASE("attention is fused on matrix units alone where the other kernels failed", "[kernels][matrix]") {
  Capabilities device = device_with({{16, 16, 16}, 32, 65536});
  for (const KernelId id : {KernelId::AttentionF16, KernelId::AttentionF16Vector})
    device.disabled[static_cast<size_t>(id)] = true;
  Lowered lowered(graph_of(DType::F16, 1, 4000, 64, 64), false, device);
  const auto [kernels, dispatches] = lowered.lower(Op::Attention);
  REQUIRE(dispatches.count == 2);
  const KernelUse& use = kernels.uses[dispatches.dispatches[0].kernel];
  CHECK(is_matrix(use.key));
  CHECK((use.key.spec[Spec::FLAGS] & HEED_ATTENTION_PARTIAL) != 0);
  const auto p = push_of<AttentionParams>(dispatches.dispatches[0]);
  CHECK(push_of<AttentionCombineParams>(dispatches.dispatches[1]).splits == (p.heads_splits >> 24) + 1);
}

}  // namespace
}  // namespace heed::kernel_tests
