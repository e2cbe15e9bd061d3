// Softmax, attention and its gradient. Sizes of attention: queries, keys, channels of a head, heads, batches.
#include "cases/op_case.hpp"

namespace heed {
namespace {

template <Causal kCausal>
void softmax(CaseGraph& c) {
  c.output(c.graph.softmax(c.x(), {.scale = 0.125f, .causal = kCausal}));
}

void plain_softmax(CaseGraph& c) { c.output(c.graph.softmax(c.x())); }

// All kinds of masks at once. Sizes: batches, heads, queries, keys.
void masked_softmax(CaseGraph& c) {
  const Dim batch = c.size(0), heads = c.size(1), m = c.size(2), n = c.size(3);
  SoftmaxOptions options;
  options.scale = 3.0f;
  options.causal = Causal::BottomRight;
  options.key_padding = exclude(c.bytes("padding", {batch, n}));
  options.mask = keep(c.bytes("mask", {batch, 1, m, n}));
  options.bias = c.input("bias", {heads, m, n});
  c.output(c.graph.softmax(c.x(), options));
}

enum Part {
  kCausal = 1,
  kCausalAtEnd = 2,
  kPadding = 4,
  kMask = 8,
  kBias = 16,
  kFill = 32,
  kDropout = 64,
  kWindow = 128,
  kLengths = 256,
  kNarrow = 512,  // keys and values of bf16 with queries of f32
  kWeights = 1024,
};
template <int kParts>
void attention(CaseGraph& c) {
  const auto has = [](Part part) { return (kParts & part) != 0; };
  const Dim m = c.size(0), n = c.size(1), d = c.size(2), heads = c.size(3), batch = c.size(4);
  AttentionOptions options;
  options.causal = has(kCausal) ? Causal::TopLeft : has(kCausalAtEnd) ? Causal::BottomRight : Causal::None;
  if (has(kPadding)) options.key_padding = exclude(c.bytes("padding", {batch, n}));
  if (has(kMask)) options.mask = keep(c.bytes("mask", {1, 1, m, n}));
  if (has(kBias)) options.bias = c.input("bias", {1, heads, m, n});
  if (has(kFill)) options.masked_fill = -1e9f;
  if (has(kDropout)) options.dropout = 0.1f;
  if (has(kWindow)) options.window = 128;
  if (has(kLengths)) options.lengths = c.ids("lengths", {1}, n);
  options.return_weights = has(kWeights);
  const DType narrow = has(kNarrow) ? DType::BF16 : c.type;
  const Tensor q = c.input("q", {batch, heads, m, d});
  const Tensor k = c.input("k", {batch, heads, n, d}, narrow), v = c.input("v", {batch, heads, n, d}, narrow);
  const AttentionResult y = c.graph.attention(q, k, v, options);
  c.output(y.output);
  if (has(kWeights)) c.output("w", y.weights);
}

void masked_attention(CaseGraph& c) {
  const Dim m = c.size(0);
  AttentionOptions options;
  options.causal = Causal::TopLeft;
  options.mask = keep(c.bytes("mask", {1, 1, m, m}));
  options.bias = c.input("bias", {3, m, m});
  const Tensor q = c.input("q", {1, 3, m, 20}), k = c.input("k", {1, 3, m, 20}), v = c.input("v", {1, 3, m, 12});
  c.output(c.graph.attention(q, k, v, options).output);
}

void log_sum_exp(CaseGraph& c) {
  const Dim m = c.size(0), n = c.size(1);
  AttentionOptions options;
  options.key_padding = exclude(c.bytes("padding", {2, n}));
  options.return_log_sum_exp = true;
  const Tensor q = c.input("q", {2, 3, m, 20}), k = c.input("k", {2, 1, n, 20}), v = c.input("v", {2, 1, n, 4});
  c.output(c.graph.attention(q, k, v, options).log_sum_exp);
}

void narrow_attention(CaseGraph& c) {
  const Dim m = c.size(0), n = c.size(1);
  const Tensor q = c.input("q", {2, 4, m, 24}), k = c.input("k", {2, 2, n, 24}, DType::BF16),
               v = c.input("v", {2, 2, n, 20}, DType::BF16);
  c.output(c.graph.attention(q, k, v).output);
}

// Several query heads share a key head; with dropout and a bias that has a gradient.
void grouped_backward(CaseGraph& c) {
  Graph& g = c.graph;
  const Dim m = c.size(0), n = c.size(1);
  const Tensor q = c.input("q", {2, 4, m, 20}), k = c.input("k", {2, 2, n, 20}), v = c.input("v", {2, 2, n, 12});
  AttentionOptions options;
  options.causal = Causal::BottomRight;
  options.key_padding = exclude(c.bytes("padding", {2, n}));
  options.bias = c.input("bias", {4, m, n});
  options.dropout = 0.25f;
  const Tensor y = g.attention(q, k, v, options).output;
  c.differentiate(y, c.input("dy", g.shape(y)), {{"dq", q}, {"dk", k}, {"dv", v}, {"dbias", options.bias}});
}

// Without masks the kernel for queries also computes the two numbers of each row.
void grouped_backward_without_masks(CaseGraph& c) {
  Graph& g = c.graph;
  const Dim m = c.size(0), n = c.size(1);
  const Tensor q = c.input("q", {2, 4, m, 20}), k = c.input("k", {2, 2, n, 20}), v = c.input("v", {2, 2, n, 12});
  const Tensor y = g.attention(q, k, v, {.causal = Causal::BottomRight}).output;
  c.differentiate(y, c.input("dy", g.shape(y)), {{"dq", q}, {"dk", k}, {"dv", v}});
}

void backward(CaseGraph& c) {
  const Dim m = c.size(0), n = c.size(1), d = c.size(2), heads = c.size(3), batch = c.size(4);
  const Tensor q = c.input("q", {batch, heads, m, d}), k = c.input("k", {batch, heads, n, d}),
               v = c.input("v", {batch, heads, n, d});
  const Tensor y = c.graph.attention(q, k, v, {.causal = Causal::BottomRight}).output;
  c.differentiate(y, c.input("dy", {batch, heads, m, d}), {{"dq", q}, {"dk", k}, {"dv", v}});
}

// clang-format off: it would put each field on a line of its own.
constexpr OpCase kAttentionCases[] = {
    {.op = "softmax", .build = plain_softmax, .plans = kBoth, .self_test = {{kM, kN}}, .floor = {{2, 1000000}}},
    {.op = "softmax", .build = masked_softmax, .label = "masked", .plans = kBoth, .self_test = {{2, 3, kM, kN}},
     .compilers = {{1, 1, 512, 512}}, .floor = {{2, 2, 50000, 5}}},
    {.op = "softmax", .build = softmax<Causal::None>, .compilers = {{512, 24}, {512, 200}, {512, 768}, {512, 4096}},
     .bench = {{1, 12, 512, 512}}},
    {.op = "softmax", .build = softmax<Causal::TopLeft>, .label = "causal", .bench = {{1, 12, 512, 512}}},
    // One lane holds the elements of a query for heads of 24; several lanes share a query for heads of 96.
    {.op = "attention", .build = attention<kPadding>, .label = "padding", .plans = kBoth,
     .self_test = {{kM, kN, 24, 2, 2}}, .compilers = {{512, 512, 64, 12, 1}}},
    {.op = "attention", .build = attention<kPadding>, .self_test = {{kM, kN, 96, 2, 2}}},
    {.op = "attention", .build = masked_attention, .plans = kBoth, .self_test = {{kM}}},
    {.op = "log_sum_exp", .build = log_sum_exp, .plans = CasePlans::Reproducible, .self_test = {{kM, kN}}},
    {.op = "attention", .build = narrow_attention, .one_type = true, .self_test = {{kM, kN}}},
    // GPUs split this many keys; the last size on every device, whatever its cores and its kernel for few queries. Earlier cases have fewer
    // keys, so that an error of the second dispatch is distinguishable.
    {.op = "attention", .build = attention<0>, .self_test = {{3, 600, 8, 2, 1}, {18, 600, 8, 2, 1}, {1, 2100, 64, 1, 1}},
     .compilers = {{512, 512, 16, 12, 1}, {512, 512, 40, 12, 1}, {512, 512, 64, 12, 1}, {512, 512, 80, 12, 1},
                   {512, 512, 128, 12, 1}, {512, 512, 256, 12, 1}, {1, 4096, 64, 12, 1}, {1, 4096, 128, 12, 1}},
     .bench = {{128, 128, 64, 12, 1}, {512, 512, 64, 12, 1}}},
    {.op = "attention", .build = attention<kCausal>, .label = "causal", .compilers = {{512, 512, 64, 12, 1}},
     .bench = {{512, 512, 64, 12, 1}}},
    {.op = "attention", .build = attention<kCausalAtEnd | kWindow | kLengths>, .label = "window lengths",
     .compilers = {{512, 512, 64, 12, 1}}},
    {.op = "attention", .build = attention<kCausalAtEnd | kLengths>, .label = "lengths",
     .compilers = {{1, 4096, 64, 12, 1}}},
    {.op = "attention", .build = attention<kNarrow>, .label = "keys of bf16", .one_type = true,
     .compilers = {{1, 4096, 64, 12, 1}, {512, 4096, 64, 12, 1}}},
    {.op = "attention", .build = attention<kCausalAtEnd | kPadding | kMask | kBias | kFill | kDropout>,
     .label = "everything", .training = true, .compilers = {{512, 512, 64, 12, 1}}},
    {.op = "attention", .build = attention<kCausalAtEnd | kDropout>, .training = true,
     .floor = {{2000, 70, 64, 5, 3}}},
    {.op = "softmax", .build = attention<kWeights>, .label = "of attention", .floor = {{30, 30, 16, 2, 1}}},
    {.op = "attention_backward", .build = grouped_backward, .training = true, .plans = kBoth,
     .self_test = {{kM, kN}}},
    {.op = "attention_backward", .build = grouped_backward_without_masks, .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "attention_backward", .build = backward, .compilers = {{512, 512, 64, 8, 1}},
     .floor = {{2000, 70, 64, 5, 3}}},
    // Other head widths in one type only, since they take compilers long.
    {.op = "attention_backward", .build = backward, .one_type = true,
     .compilers = {{512, 512, 128, 8, 1}, {512, 512, 256, 8, 1}}},
};
// clang-format on

}  // namespace

std::span<const OpCase> attention_cases() { return kAttentionCases; }

}  // namespace heed
