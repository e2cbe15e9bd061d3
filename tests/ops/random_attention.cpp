#include <cmath>

#include "ops/random.hpp"

namespace heed::ops {
namespace {

struct Options {
  int64_t group, heads, d_k, d_v;
  Causal causal;
  bool padded, masked, keeps, biased, filled, dropout, log_sum_exp;
  bool across;        // heads side by side in memory, as projections write them
  int64_t mask_rank;  // [S_q, S_kv], or with batches
  int64_t window = 0;
  bool narrow, bfloat;  // type of keys and values with queries of f32
  bool ragged, placed;  // lengths and positions for each row of the batch

  explicit Options(Random& random) {
    group = random.pick({1, 1, 2, 3});
    heads = group * random.pick({1, 2});
    d_k = random.pick({8, 20, 33, 64, 64, 100});
    d_v = random.coin() ? d_k : random.pick({12, 33, 64, 80});
    causal = static_cast<Causal>(random.below(3));
    padded = random.coin(), masked = random.coin(), keeps = random.coin(), biased = random.coin();
    filled = random.one_in(4), dropout = random.one_in(4), log_sum_exp = random.one_in(3);
    across = !random.one_in(3);
    mask_rank = random.pick({2, 4});
    if (causal != Causal::None && random.one_in(3)) window = random.pick({1, 16, 50, 600});
    narrow = random.one_in(3), bfloat = random.coin();
    ragged = random.one_in(3), placed = causal != Causal::None && random.one_in(3);
    // A device without enough bindings computes separate matmuls, and has no log-sum-exp.
    if (padded && masked && biased && (ragged || placed)) log_sum_exp = false;
  }
  Mask sense(Tensor mask) const { return keeps ? keep(mask) : exclude(mask); }
};

// The type of keys and values.
DType keys_type(DType type, const Options& o) {
  return type != DType::F32 || !o.narrow ? type : o.bfloat ? DType::BF16 : DType::F16;
}

Tensor declare(Trial& t, const Options& o, const char* name, DType type, Dim batch, Dim length, int64_t heads,
               int64_t width) {
  if (!o.across) return t.graph.input(name, {batch, heads, length, width}, type);
  return t.graph.transpose(t.graph.input(name, {batch, length, heads, width}, type), 1, 2);
}

// Values as [batch, heads of queries, length, width].
Array give(Run& run, const Options& o, const char* name, DType type, int64_t batch, int64_t length, int64_t heads,
           int64_t width, uint64_t seed) {
  const auto draw = [&](const Sizes& shape) { return run.input(name, uniform(shape, seed, -1.5, 1.5), type); };
  const Array x =
      o.across ? permute(draw({batch, length, heads, width}), {0, 2, 1, 3}) : draw({batch, heads, length, width});
  const Array apart = reshape(x, {batch, heads, 1, length, width});
  return reshape(broadcast(apart, {batch, heads, o.heads / heads, length, width}), {batch, o.heads, length, width});
}

}  // namespace

void build_attention(Trial& t, Random& random) {
  const Options o(random);
  t.options.training = true;
  Drawn drawn(t, random);
  const Dim batch = drawn.size("batch", 2), queries = drawn.size("queries", random.pick({3, 8, 70, 70})),
            keys = drawn.size("keys", random.pick({150, 150, 700, 2100}), random.one_in(3));
  const DType narrow = keys_type(t.dtype, o);
  AttentionOptions options;
  options.causal = o.causal;
  options.window = o.window;
  options.return_log_sum_exp = o.log_sum_exp;
  if (o.filled) options.masked_fill = -1e4f;
  if (o.dropout) options.dropout = 0.2f;
  if (o.padded) options.key_padding = o.sense(t.graph.input("padding", {batch, keys}, DType::U8));
  if (o.masked)
    options.mask = o.sense(
        t.graph.input("mask", o.mask_rank == 2 ? Shape{queries, keys} : Shape{batch, 1, queries, keys}, DType::U8));
  if (o.ragged) options.lengths = t.graph.input("lengths", {batch}, DType::I32);
  if (o.placed) options.positions = t.graph.input("positions", {batch}, DType::I32);
  if (o.biased) options.bias = t.input("bias", {o.heads, 1, keys});
  const AttentionResult result =
      t.graph.attention(declare(t, o, "q", t.dtype, batch, queries, o.heads, o.d_k),
                        declare(t, o, "k", narrow, batch, keys, o.heads / o.group, o.d_k),
                        declare(t, o, "v", narrow, batch, keys, o.heads / o.group, o.d_v), options);
  t.graph.output("y", result.output);
  if (o.log_sum_exp) t.graph.output("lse", result.log_sum_exp);

  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const uint64_t seed = random.next();
    const Array q = give(run, o, "q", t.dtype, s[0], s[1], o.heads, o.d_k, seed),
                k = give(run, o, "k", narrow, s[0], s[2], o.heads / o.group, o.d_k, seed + 1),
                v = give(run, o, "v", narrow, s[0], s[2], o.heads / o.group, o.d_v, seed + 2);
    HiddenKeys hidden;
    SoftmaxReference& reference = hidden.reference;
    reference.causal = o.causal;
    reference.window = o.window;
    reference.key_padding_keeps = reference.mask_keeps = o.keeps;
    if (o.filled) reference.masked_fill = -1e4;
    if (o.padded) hidden.give_padding(run, random_mask({s[0], s[2]}, random));
    if (o.masked)
      hidden.give_mask(run, random_mask(o.mask_rank == 2 ? Sizes{s[1], s[2]} : Sizes{s[0], 1, s[1], s[2]}, random));
    if (o.ragged) hidden.give_lengths(run, whole_numbers({s[0]}, random.next(), 0, s[2] + 3));
    if (o.placed) hidden.give_positions(run, whole_numbers({s[0]}, random.next(), -5, s[2] + 5));
    if (o.biased) hidden.give_bias(run, uniform({o.heads, 1, s[2]}, seed + 5));
    const auto scale = static_cast<double>(static_cast<float>(1.0 / std::sqrt(static_cast<double>(o.d_k))));
    const Array scores = t.stored(matmul(q, transposed(k), scale));
    Array weights = t.stored(softmax(scores, reference));
    if (o.dropout) weights = t.stored(dropout(weights, static_cast<double>(0.2f), run.options.seed, 0));
    run.expect("y", matmul(weights, v), static_cast<double>(o.d_k + s[2]) * 4.0, 64);
    if (o.log_sum_exp) run.expect_within("lse", log_sum_exp(scores, reference));
  });
}

}  // namespace heed::ops
