// Which attention is fused, and how its kernels are split.

#include "kernels/attention/attention.hpp"
#include "kernels/lowered.hpp"

namespace heed::kernel_tests {
namespace {

using namespace kernels::attention;

bool is_fused(const Graph& g) {
  const Lowered lowered(g);
  return std::any_of(lowered.schedule.passes.begin(), lowered.schedule.passes.end(),
                     [](const Node& node) { return node.op == Op::Attention; });
}

struct Sizes {
  int64_t queries = 40, keys = 50, d_k = 64, d_v = 64;
};

Graph attention_graph(const Sizes& s, const AttentionOptions& options = {}) {
  Graph g;
  const Tensor q = g.input("q", {2, 3, s.queries, s.d_k}), k = g.input("k", {2, 3, s.keys, s.d_k}),
               v = g.input("v", {2, 3, s.keys, s.d_v});
  const AttentionResult result = g.attention(q, k, v, options);
  g.output("y", result.output);
  if (options.return_weights) g.output("w", result.weights);
  return g;
}

TEST_CASE("attention is fused unless its weights are wanted or a row is not dense") {
  CHECK(is_fused(attention_graph({})));
  CHECK(is_fused(attention_graph({.d_k = 1, .d_v = 256})));
  CHECK_FALSE(is_fused(attention_graph({}, {.return_weights = true})));
  CHECK_FALSE(is_fused(attention_graph({.d_k = 257})));
  CHECK_FALSE(is_fused(attention_graph({.d_v = 300})));
  Graph g;
  const Tensor x = g.input("x", {2, 3, 16, 40}), y = g.transpose(x, 2, 3);  // [2, 3, 40, 16], innermost stride 40
  g.output("y", g.attention(y, y, y).output);
  CHECK_FALSE(is_fused(g));
}

TEST_CASE("attention kernels fit the portability floor at every head size") {
  for (int64_t d = 1; d <= 256; ++d) {
    for (const int64_t d_v : {d, 257 - d}) {
      INFO("d_k " << d << " d_v " << d_v);
      Graph g;
      const Dim queries = g.extent("queries", 300);
      const Tensor q = g.input("q", {1, 2, queries, d}), k = g.input("k", {1, 2, 90, d}),
                   v = g.input("v", {1, 2, 90, d_v});
      g.output("y", g.attention(q, k, v).output);
      Lowered lowered(g);
      for (const int64_t length : {1, 8, 33, 300}) {
        lowered.set_extent("queries", length);
        const auto [kernels, dispatches] = lowered.lower(Op::Attention);
        for (uint32_t n = 0; n < kernels.count; ++n) {
          const auto& spec = kernels.uses[n].key.spec;
          if (length == 1 && d % 8 < 2) REQUIRE(shared_bytes(kernels.uses[n].key) <= lowered.device.shared_bytes);
          REQUIRE(spec[0] <= lowered.device.max_invocations);
          const uint32_t lanes = spec[TileSpec::LANES], tk = spec[TileSpec::TK];
          REQUIRE(spec[0] % lanes == 0);
          REQUIRE(spec[TileSpec::BK] % tk == 0);
          REQUIRE(spec[TileSpec::BK] <= 32);
          if (lanes > 1) REQUIRE(spec[TileSpec::PARTIALS] == spec[0] * spec[TileSpec::TQ] * tk);
        }
        REQUIRE(dispatches.count >= 1);
        const Dispatch& dispatch = dispatches.dispatches[0];
        const int64_t per_group = queries_of(kernels.uses[dispatch.kernel].key);
        REQUIRE(int64_t{dispatch.groups[0]} * dispatch.groups[1] * dispatch.groups[2] >=
                2 * ((length + per_group - 1) / per_group));
      }
    }
  }
}

TEST_CASE("an invocation of attention keeps less where it has few registers") {
  Capabilities device;
  for (int64_t d = 1; d <= 256; ++d) {
    Graph g;
    const auto input = [&](const char* name) { return g.input(name, {1, 2, 300, d}); };
    g.output("y", g.attention(input("q"), input("k"), input("v")).output);
    // Counts the elements of queries and outputs, and the logits, that an invocation holds.
    const auto kept = [&](uint32_t registers) {
      device.registers = registers;
      Lowered lowered(g, false, device);
      const auto lowering = lowered.lower(Op::Attention);
      const auto& spec = lowering.use(0).key.spec;
      return 2 * ((d + 4 * spec[TileSpec::LANES] - 1) / (4 * spec[TileSpec::LANES]) * 4) + spec[TileSpec::TK];
    };
    CHECK(kept(kManyRegisters) <= 88);
    CHECK(kept(kManyRegisters - 1) <= 68);
  }
}

TEST_CASE("an invocation of attention has two queries where workgroups fill a device with many registers") {
  Capabilities device;
  const auto kernel_of = [&](int64_t heads, int64_t queries, int64_t d) {
    Graph g;
    const auto input = [&](const char* name) { return g.input(name, {1, heads, queries, d}); };
    g.output("y", g.attention(input("q"), input("k"), input("v")).output);
    Lowered lowered(g, false, device);
    const auto [kernels, dispatches] = lowered.lower(Op::Attention);
    return kernels.uses[dispatches.dispatches[0].kernel].key;
  };
  for (int64_t d = 1; d <= 256; ++d) {
    INFO("d " << d);
    const KernelKey key = kernel_of(64, 512, d);
    const auto& spec = key.spec;
    REQUIRE(spec[TileSpec::TQ] == 2);
    REQUIRE(spec[0] <= device.max_invocations);
    REQUIRE(spec[TileSpec::BK] % spec[TileSpec::TK] == 0);
    if (d % 8 < 2) REQUIRE(shared_bytes(key) <= device.shared_bytes);
    if (spec[TileSpec::LANES] > 1) REQUIRE(spec[TileSpec::PARTIALS] == spec[0] * 2 * spec[TileSpec::TK]);
    // Elements of two queries and two outputs, and the logits, that an invocation holds.
    const int64_t elements = 4 * ((d + 4 * spec[TileSpec::LANES] - 1) / (4 * spec[TileSpec::LANES]));
    REQUIRE(4 * elements + 2 * spec[TileSpec::TK] <= 144);
  }
  CHECK(kernel_of(64, 512, 64).spec[TileSpec::LANES] == kernel_of(1, 512, 64).spec[TileSpec::LANES]);
  // The default device has 2 x 32 cores: 16 heads have 64 workgroups of 128 queries, 15 have 60.
  CHECK(kernel_of(16, 512, 64).spec[TileSpec::TQ] == 2);
  CHECK(kernel_of(15, 512, 64).spec[TileSpec::TQ] == 1);
  // By its flops a workgroup of a slow GPU would take too long for more keys, and would be split.
  CHECK(kernel_of(16, 4096, 64).spec[TileSpec::TQ] == 2);
  CHECK(kernel_of(16, 4104, 64).spec[TileSpec::TQ] == 1);
  device.invocation_work *= 2;
  CHECK(kernel_of(16, 4104, 64).spec[TileSpec::TQ] == 2);
  device.cores = 33;
  CHECK(kernel_of(16, 512, 64).spec[TileSpec::TQ] == 1);
  device.registers = kManyRegisters - 1;
  CHECK(kernel_of(64, 512, 64).spec[TileSpec::TQ] == 1);
  // For a driver that keeps arrays in registers workgroups are smaller, and one invocation holds a whole head of 64.
  device.registers = kRegistersInMemory;
  const KernelKey in_memory = kernel_of(64, 512, 64);
  CHECK(in_memory.spec[TileSpec::TQ] == 2);
  CHECK(in_memory.spec[TileSpec::LANES] == 1);
  CHECK(in_memory.spec[0] == 32);
  CHECK(shared_bytes(in_memory) <= device.shared_bytes);
}

struct Split {
  int64_t batch, heads, queries, keys, d_k, d_v;
  bool split;
};

Graph graph_of(const Split& s, DType type = DType::F32) {
  Graph g;
  const Tensor q = g.input("q", {s.batch, s.heads, s.queries, s.d_k}, type),
               k = g.input("k", {s.batch, s.heads, s.keys, s.d_k}, type),
               v = g.input("v", {s.batch, s.heads, s.keys, s.d_v}, type);
  g.output("y", g.attention(q, k, v).output);
  return g;
}

Capabilities unbounded(Capabilities device) {
  device.max_storage_range = uint64_t{1} << 40;
  return device;
}

// Keys of the longest split.
uint32_t keys_each(const AttentionParams& p, const KernelKey& key) {
  const uint32_t splits = (p.heads_splits >> 24) + 1, tile = tile_keys_of(key);
  const uint32_t keys = (p.s_kv + splits * tile - 1) / (splits * tile) * tile;
  CHECK((splits - 1) * keys < p.s_kv);
  CHECK(splits * keys >= p.s_kv);
  return std::min(keys, p.s_kv);
}

// The dispatches come in pairs. Together they cover all blocks, partial results fit the workspace, every split has keys, and the combining
// dispatch reads what was written.
void check_split(Lowered& lowered, const DispatchList& dispatches, const KernelList& kernels) {
  const Tensor workspace = lowered.pass(Op::Attention).workspace;
  REQUIRE(workspace.valid());
  CHECK(lowered.schedule.placement(workspace).bytes <= 256u << 20);
  REQUIRE_FALSE(dispatches.overflowed);
  REQUIRE(dispatches.count % 2 == 0);
  uint32_t block = 0, row = 0;
  for (uint32_t d = 0; d < dispatches.count; d += 2) {
    const auto p = push_of<AttentionParams>(dispatches.dispatches[d]);
    const auto combine = push_of<AttentionCombineParams>(dispatches.dispatches[d + 1]);
    const KernelKey& key = kernels.uses[dispatches.dispatches[d].kernel].key;
    const uint32_t splits = (p.heads_splits >> 24) + 1, blocks = p.end_block - block;
    const uint32_t per_group = queries_of(key), row_elements = key.spec[Spec::D_V] + 2;
    CHECK(splits > 1);
    CHECK((key.spec[Spec::FLAGS] & HEED_ATTENTION_PARTIAL) != 0);
    (void)keys_each(p, key);
    REQUIRE(p.end_block > block);
    CHECK(p.offset[7] == block);
    CHECK(p.offset[6] == 0);
    CHECK(combine.splits == splits);
    CHECK(combine.first_row == row);
    CHECK(uint64_t{combine.rows} * splits * row_elements * 4 <= lowered.schedule.placement(workspace).bytes);
    const auto& groups = dispatches.dispatches[d].groups;
    CHECK(uint64_t{groups[0]} * groups[1] * groups[2] >= uint64_t{splits} * blocks);
    block = p.end_block;
    row += combine.rows;
    const uint32_t per_head = (p.s_q + per_group - 1) / per_group;
    CHECK(row == block / per_head * p.s_q + block % per_head * per_group);
  }
  const TensorInfo& query = lowered.schedule.info(lowered.pass(Op::Attention).inputs[0]);
  const auto size = [&](size_t i) { return lowered.sizes[static_cast<size_t>(query.dims[i])]; };
  CHECK(row == size(0) * size(1) * size(2));
}

TEST_CASE("attention splits its keys where queries and heads do not fill a device") {
  const Split rows[] = {
      {1, 1, 1, 2048, 64, 64, true},    {1, 32, 1, 16384, 128, 128, true},   {2, 3, 5, 700, 7, 33, true},
      {1, 1, 40, 4000, 64, 64, true},   {1, 8, 512, 2048, 64, 64, true},     {1, 12, 512, 512, 64, 64, false},
      {1, 1, 1, 511, 64, 64, false},    {1, 16, 8192, 8192, 64, 64, false},  {1, 16, 16384, 16384, 64, 64, true},
      {3, 5, 700, 20000, 64, 80, true}, {64, 32, 1, 131072, 128, 128, true}, {1, 1, 1, 1000000, 256, 256, true},
      {64, 64, 1, 600, 64, 64, false}};
  for (const Split& s : rows) {
    INFO(s.batch << " x " << s.heads << " heads, " << s.queries << " x " << s.keys);
    Lowered lowered(graph_of(s), false, unbounded(Capabilities{}));
    const auto [kernels, dispatches] = lowered.lower(Op::Attention);
    REQUIRE((dispatches.count > 1) == s.split);
    if (s.split)
      check_split(lowered, dispatches, kernels);
    else
      CHECK_FALSE(lowered.pass(Op::Attention).workspace.valid());
  }
}

// Milliseconds of a workgroup on a slow GPU, on which 128 invocations have 10 GFLOP/s. No workgroup on matrix units is slower.
double milliseconds_of_group(const Dispatch& dispatch, const KernelKey& key) {
  const double invocations = is_matrix(key) ? std::max(key.spec[0], 128u) : key.spec[0];
  const double keys = keys_each(push_of<AttentionParams>(dispatch), key);
  return 2.0 * keys * queries_of(key) * (key.spec[Spec::D_K] + key.spec[Spec::D_V]) / (invocations * 10e9 / 128) * 1e3;
}

TEST_CASE("no workgroup of an attention takes a slow GPU much longer than 10 ms, however many the keys are") {
  Capabilities units = device_with_units(), intel = units, floor;
  intel.matrix = {8, 16, 16};
  intel.matrix_subgroup = 16;
  double longest = 0;
  size_t in_turns = 0;
  for (const Capabilities& device : {floor, units, intel})
    for (const DType type : {DType::F32, DType::F16}) {
      if (type == DType::F16 && !device.storage_16bit) continue;
      for (const int64_t keys : {1000, 8192, 8193, 16384, 32768, 65536, 100000, 262144, 1 << 20})
        for (const int64_t queries :
             {int64_t{1}, int64_t{9}, int64_t{1000}, std::min<int64_t>(keys, keys < 1 << 20 ? 65536 : 8192)})
          for (const int64_t d : {32, 64, 128, 256}) {
            INFO(to_string(type) << ", " << queries << " x " << keys << " of " << d);
            Lowered lowered(graph_of({1, 4, queries, keys, d, d, false}, type), false, unbounded(device));
            const auto [kernels, list] = lowered.lower(Op::Attention);
            const bool split = list.count > 1;
            if (split) check_split(lowered, list, kernels);
            in_turns += list.count > 2;
            for (uint32_t i = 0; i < list.count; i += split ? 2 : 1) {
              const Dispatch& dispatch = list.dispatches[i];
              const double now = milliseconds_of_group(dispatch, kernels.uses[dispatch.kernel].key);
              CHECK(now <= 13.5);
              longest = std::max(longest, now);
            }
          }
    }
  CHECK(longest > 13);
  CHECK(in_turns > 0);
}

TEST_CASE("splits of the keys follow the extents") {
  Graph g;
  const Dim batch = g.extent("batch", 4), queries = g.extent("queries", 200), keys = g.extent("keys", 5000);
  const Tensor q = g.input("q", {batch, 2, queries, 64}), k = g.input("k", {batch, 2, keys, 64}),
               v = g.input("v", {batch, 2, keys, 64});
  g.output("y", g.attention(q, k, v, {.return_log_sum_exp = true}).output);
  Lowered lowered(g);
  for (const int64_t b : {1, 4})
    for (const int64_t n : {1, 8, 9, 33, 200})
      for (const int64_t m : {1, 127, 128, 700, 5000}) {
        INFO(b << " x " << n << " x " << m);
        lowered.set_extents({{"batch", b}, {"queries", n}, {"keys", m}});
        const auto [kernels, dispatches] = lowered.lower(Op::Attention);
        REQUIRE(dispatches.count == (m >= (n <= 8 ? 512 : 2048) ? 2u : 1u));
        if (dispatches.count == 2) check_split(lowered, dispatches, kernels);
      }
}

TEST_CASE("splits of the keys are as many as a window's keys need") {
  const auto splits = [](int64_t window, int64_t keys) {
    const AttentionOptions options = {.causal = Causal::BottomRight, .window = window};
    Lowered lowered(attention_graph({.queries = 1, .keys = keys}, options));
    const auto [kernels, dispatches] = lowered.lower(Op::Attention);
    return dispatches.count == 1 ? 1u : (push_of<AttentionParams>(dispatches.dispatches[0]).heads_splits >> 24) + 1;
  };
  CHECK(splits(100, 30000) == 1);
  CHECK(splits(3000, 30000) == splits(0, 3000));
  CHECK(splits(30000, 3000) == splits(0, 3000));
  CHECK(splits(0, 3000) > 1);
}

TEST_CASE("lengths and positions take the bindings of masks that are absent") {
  const auto bindings = [](bool padding, bool mask, bool bias) {
    Graph g;
    const Tensor x = g.input("x", {2, 3, 16, 40}), rows = g.input("rows", {2}, DType::I32);
    AttentionOptions options = {.causal = Causal::TopLeft, .lengths = rows, .positions = rows};
    if (padding) options.key_padding = exclude(g.input("padding", {2, 16}, DType::U8));
    if (mask) options.mask = exclude(g.input("mask", {16, 16}, DType::U8));
    if (bias) options.bias = g.input("bias", {16, 16});
    g.output("y", g.attention(x, x, x, options).output);
    CHECK(is_fused(g));
    const Lowered lowered(g);
    CHECK(lowered.schedule.passes.size() == (padding + mask + bias < 2 ? 2 : 3));  // with the output's copy
    return row_bindings(lowered.pass(Op::Attention));
  };
  CHECK(bindings(false, false, false).lengths == 3);
  CHECK(bindings(false, false, false).positions == 4);
  CHECK(bindings(true, false, false).lengths == 4);
  CHECK(bindings(false, true, false).positions == 5);
  // Both are joined if they would not fit otherwise, and use the binding of the unused log-sum-exp.
  CHECK(bindings(true, false, true).lengths == 4);
  CHECK(bindings(true, false, true).positions == 4);
  CHECK(bindings(true, true, true).lengths == 7);
  CHECK(bindings(true, true, true).positions == 7);
}

TEST_CASE("attention does without splits where their second dispatch's kernel failed") {
  Lowered lowered(attention_graph({.queries = 1, .keys = 3000}));
  lowered.device.disabled[static_cast<size_t>(KernelId::AttentionCombineF32)] = true;
  Lowered without(attention_graph({.queries = 1, .keys = 3000}), false, lowered.device);
  const auto [kernels, dispatches] = without.lower(Op::Attention);
  CHECK(dispatches.count == 1);
  CHECK_FALSE(without.pass(Op::Attention).workspace.valid());
}

TEST_CASE("a plan for up to 16,384 tokens keeps its scratch small") {
  Graph g;
  const Dim tokens = g.extent("tokens", 16384);
  const auto input = [&](const char* name) { return g.input(name, {1, 16, tokens, 64}); };
  const AttentionResult result =
      g.attention(input("q"), input("k"), input("v"), {.causal = Causal::TopLeft, .return_log_sum_exp = true});
  g.output("y", g.reshape(g.transpose(result.output, 1, 2), {1, tokens, 1024}));
  g.output("lse", result.log_sum_exp);
  const Lowered lowered(g);
  CHECK(lowered.schedule.passes.size() == 1);
  CHECK(lowered.schedule.scratch_bytes <= 16u << 20);
}

TEST_CASE("fused attention over 8,192 tokens needs no scratch") {
  Graph g;
  const Tensor q = g.input("q", {1, 16, 8192, 64}), k = g.input("k", {1, 16, 8192, 64}),
               v = g.input("v", {1, 16, 8192, 64});
  const Tensor y = g.attention(q, k, v, {.causal = Causal::TopLeft}).output;
  g.output("y", g.reshape(g.transpose(y, 1, 2), {1, 8192, 1024}));
  const Lowered lowered(g);
  CHECK(lowered.schedule.passes.size() == 1);
  CHECK(lowered.schedule.scratch_bytes == 0);
}

}  // namespace
}  // namespace heed::kernel_tests
