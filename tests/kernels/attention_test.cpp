// Which attention is fused, and how its kernels are cut.
#include <algorithm>

#include "kernels/lowered.hpp"

namespace heed::kernel_tests {
namespace {

bool is_fused(const Graph& g) {
  const Lowered lowered(g);
  return std::any_of(lowered.schedule.steps.begin(), lowered.schedule.steps.end(),
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

// As attention.comp declares them: tiles of keys and values, exchanged parts of the logits, three words.
uint32_t shared_bytes(const KernelUse& use) {
  const auto& spec = use.key.spec;
  const uint32_t d_k = spec[3], d_v = spec[4], lanes = spec[11], bk = spec[14], partials = spec[15];
  const auto row = [&](uint32_t d) { return (d + 4 * lanes - 1) / (4 * lanes) * lanes * 16; };
  return bk * (row(d_k) + row(d_v)) + partials * 4 + 12;
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
      KernelList kernels;
      DispatchList dispatches;
      for (const int64_t length : {1, 8, 33, 300}) {
        lowered.set_extent("queries", length);
        lowered.lower(lowered.step(Op::Attention), &kernels, &dispatches);
        for (uint32_t n = 0; n < kernels.count; ++n) {
          const auto& spec = kernels.uses[n].key.spec;
          REQUIRE(shared_bytes(kernels.uses[n]) <= lowered.device.shared_bytes);
          REQUIRE(spec[0] <= lowered.device.max_invocations);
          REQUIRE(spec[0] % spec[11] == 0);
          REQUIRE(spec[14] % spec[13] == 0);
          REQUIRE(spec[14] <= 32);
          if (spec[11] > 1) REQUIRE(spec[15] == spec[0] * spec[12] * spec[13]);
        }
        REQUIRE(dispatches.count >= 1);
        const Dispatch& dispatch = dispatches.dispatches[0];
        const auto& spec = kernels.uses[dispatch.kernel].key.spec;
        const int64_t per_group = spec[0] / spec[11] * spec[12];
        REQUIRE(int64_t{dispatch.groups[0]} * dispatch.groups[1] * dispatch.groups[2] >=
                2 * ((length + per_group - 1) / per_group));
      }
    }
  }
}

struct Split {
  int64_t batch, heads, queries, keys, d_k, d_v;
  bool split;
};

// The partial results fit the workspace, every split has keys, and the combination reads what was written.
void check_split(Lowered& lowered, const DispatchList& dispatches, const KernelList& kernels) {
  const auto p = push_of<AttentionParams>(dispatches.dispatches[0]);
  const auto combine = push_of<AttentionCombineParams>(dispatches.dispatches[1]);
  const auto& spec = kernels.uses[dispatches.dispatches[0].kernel].key.spec;
  const uint32_t splits = (p.heads_splits >> 24) + 1, bk = spec[14], per_group = spec[0] / spec[11] * spec[12];
  CHECK(splits > 1);
  CHECK((spec[5] & HEED_ATTENTION_PARTIAL) != 0);
  const uint32_t share = (p.s_kv + splits * bk - 1) / (splits * bk) * bk;
  CHECK((splits - 1) * share < p.s_kv);
  CHECK(splits * share >= p.s_kv);
  CHECK(combine.splits == splits);
  CHECK(combine.rows == p.batch_heads * p.s_q);
  const Tensor workspace = lowered.step(Op::Attention).workspace;
  REQUIRE(workspace.valid());
  CHECK(uint64_t{combine.rows} * splits * (spec[4] + 2) * 4 <= lowered.schedule.placement(workspace).bytes);
  const auto& groups = dispatches.dispatches[0].groups;
  CHECK(groups[0] * groups[1] * groups[2] >= splits * p.batch_heads * ((p.s_q + per_group - 1) / per_group));
}

TEST_CASE("attention splits its keys where queries and heads do not fill a device") {
  const Split rows[] = {{1, 1, 1, 2048, 64, 64, true},      {1, 32, 1, 16384, 128, 128, true},
                        {2, 3, 5, 700, 7, 33, true},        {1, 1, 40, 4000, 64, 64, true},
                        {1, 8, 512, 2048, 64, 64, true},    {1, 12, 512, 512, 64, 64, false},
                        {1, 1, 1, 511, 64, 64, false},      {1, 16, 16384, 16384, 64, 64, false},
                        {1, 1, 1, 1000000, 256, 256, true}, {64, 64, 1, 600, 64, 64, false}};
  for (const Split& s : rows) {
    INFO(s.batch << " x " << s.heads << " heads, " << s.queries << " x " << s.keys);
    Graph g;
    const Tensor q = g.input("q", {s.batch, s.heads, s.queries, s.d_k}),
                 k = g.input("k", {s.batch, s.heads, s.keys, s.d_k}),
                 v = g.input("v", {s.batch, s.heads, s.keys, s.d_v});
    g.output("y", g.attention(q, k, v).output);
    Lowered lowered(g);
    lowered.device.max_storage_range = UINT32_MAX;
    KernelList kernels;
    DispatchList dispatches;
    lowered.lower(lowered.step(Op::Attention), &kernels, &dispatches);
    REQUIRE(dispatches.count == (s.split ? 2u : 1u));
    if (s.split)
      check_split(lowered, dispatches, kernels);
    else
      CHECK_FALSE(lowered.step(Op::Attention).workspace.valid());
  }
}

TEST_CASE("splits of the keys follow the extents") {
  Graph g;
  const Dim batch = g.extent("batch", 4), queries = g.extent("queries", 200), keys = g.extent("keys", 5000);
  const Tensor q = g.input("q", {batch, 2, queries, 64}), k = g.input("k", {batch, 2, keys, 64}),
               v = g.input("v", {batch, 2, keys, 64});
  g.output("y", g.attention(q, k, v, {.return_log_sum_exp = true}).output);
  Lowered lowered(g);
  KernelList kernels;
  DispatchList dispatches;
  for (const int64_t b : {1, 4})
    for (const int64_t n : {1, 8, 9, 33, 200})
      for (const int64_t m : {1, 127, 128, 700, 5000}) {
        INFO(b << " x " << n << " x " << m);
        lowered.set_extents({{"batch", b}, {"queries", n}, {"keys", m}});
        lowered.lower(lowered.step(Op::Attention), &kernels, &dispatches);
        REQUIRE(dispatches.count == (m >= (n <= 8 ? 512 : 2048) ? 2u : 1u));
        if (dispatches.count == 2) check_split(lowered, dispatches, kernels);
      }
}

TEST_CASE("attention does without splits where their second pass failed") {
  Lowered lowered(attention_graph({.queries = 1, .keys = 3000}));
  lowered.device.disabled[static_cast<size_t>(KernelId::AttentionCombineF32)] = true;
  Lowered without(attention_graph({.queries = 1, .keys = 3000}), false, lowered.device);
  KernelList kernels;
  DispatchList dispatches;
  without.lower(without.step(Op::Attention), &kernels, &dispatches);
  CHECK(dispatches.count == 1);
  CHECK_FALSE(without.step(Op::Attention).workspace.valid());
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
  CHECK(lowered.schedule.steps.size() == 1);
  CHECK(lowered.schedule.scratch_bytes <= 64u << 20);
}

TEST_CASE("fused attention over 16,384 tokens needs no scratch") {
  Graph g;
  const Tensor q = g.input("q", {1, 16, 16384, 64}), k = g.input("k", {1, 16, 16384, 64}),
               v = g.input("v", {1, 16, 16384, 64});
  const Tensor y = g.attention(q, k, v, {.causal = Causal::TopLeft}).output;
  g.output("y", g.reshape(g.transpose(y, 1, 2), {1, 16384, 1024}));
  const Lowered lowered(g);
  CHECK(lowered.schedule.steps.size() == 1);
  CHECK(lowered.schedule.scratch_bytes == 0);
}

}  // namespace
}  // namespace heed::kernel_tests
