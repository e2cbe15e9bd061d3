// Operations on rows: norms, means, argmax, sampling and losses. Sizes: rows, columns.
#include <tuple>

#include "cases/op_case.hpp"

namespace heed {
namespace {

void layernorm(CaseGraph& c) {
  const Tensor x = c.x();
  c.output(c.graph.layernorm(x, c.row("gamma", x), c.row("beta", x), 1e-5f));
}

void residual_layernorm(CaseGraph& c) {
  const Tensor sum = c.graph.add(c.x(), c.input("r", c.shape()));
  c.output(c.graph.layernorm(sum, c.row("gamma", sum), c.row("beta", sum), 1e-2f));
}

void rmsnorm(CaseGraph& c) {
  const Tensor x = c.x();
  c.output(c.graph.rmsnorm(x, c.row("gamma", x), 1e-2f));
}

void l2_normalize(CaseGraph& c) { c.output(c.graph.l2_normalize(c.x())); }

void log_softmax(CaseGraph& c) { c.output(c.graph.log_softmax(c.x())); }

// The mean over the tokens that a mask keeps. Sizes: texts, tokens, columns.
void masked_mean(CaseGraph& c) { c.output(c.graph.mean(c.x(), 1, keep(c.bytes("kept", {c.size(0), c.size(1)})))); }

template <int kAxis>
void mean(CaseGraph& c) {
  c.output(c.graph.mean(c.x(), kAxis));
}

// A reduction of all elements takes two passes, with F32 between them if there are many elements.
void all_reductions(CaseGraph& c) {
  const Tensor x = c.x();
  for (const auto& [kind, rows, columns, all] : {std::tuple{Reduction::Product, "y", "b", "c"},
                                                 {Reduction::LogSumExp, "d", "e", "f"},
                                                 {Reduction::L2, "g", "h", "i"},
                                                 {Reduction::Max, "j", "k", "l"},
                                                 {Reduction::Min, "m", "o", "p"}}) {
    c.output(rows, c.graph.reduce(x, kind, {1}));
    c.output(columns, c.graph.reduce(x, kind, {0}));
    c.output(all, c.graph.reduce(x, kind, {0, 1}));
  }
}

template <Reduction kKind>
void reduction(CaseGraph& c) {
  c.output(c.graph.reduce(c.x(), kKind, {1}));
}

void sum_of_all(CaseGraph& c) { c.output(c.graph.reduce(c.x(), Reduction::Sum, {0, 1})); }

void sums_of_whole_numbers(CaseGraph& c) {
  const Tensor x = c.ids("ids", c.shape(), 7);
  c.output("y", c.graph.reduce(x, Reduction::Sum, {0}));
  c.output("z", c.graph.reduce(x, Reduction::Max, {1}));
}

template <int kAxis>
void cumsum(CaseGraph& c) {
  c.output(c.graph.cumsum(c.x(), kAxis));
}

void cumsum_from_the_end(CaseGraph& c) {
  const Tensor x = c.x();
  c.output("y", c.graph.cumsum(x, 0, true));
  c.output("z", c.graph.cumsum(x, 1, false, true));
}

void argmax(CaseGraph& c) { c.output(c.graph.argmax(c.x())); }

void last_argmin(CaseGraph& c) { c.output(c.graph.argmin(c.x(), 0, false, true)); }

void top_3(CaseGraph& c) {
  const TopKResult top = c.graph.top_k(c.x(), 3, 0);
  c.output("y", top.values);
  c.output("z", top.indices);
}

void top_8(CaseGraph& c) { c.output(c.graph.top_k(c.x(), 8).indices); }

void cross_entropy(CaseGraph& c) {
  const Tensor x = c.x(), labels = c.ids("labels", {c.size(0)}, c.size(1));
  c.output("y", c.graph.cross_entropy(x, labels));
}

void smoothed_cross_entropy(CaseGraph& c) {
  const Tensor x = c.x(), labels = c.ids("labels", {c.size(0)}, c.size(1));
  c.output("y", c.graph.cross_entropy(x, labels));
  c.output("z", c.graph.cross_entropy(x, labels, 0.25f));
}

void sample(CaseGraph& c) { c.output(c.graph.sample(c.x(), {.top_p = 0.9f})); }

// With the settings of a chat.
void chat_sample(CaseGraph& c) { c.output(c.graph.sample(c.x(), {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f})); }

void sample_of_everything(CaseGraph& c) {
  const Tensor x = c.x();
  c.output("y", c.graph.sample(x));
  c.output("z", c.graph.sample(x, {.previous = c.ids("previous", {9}, 7),
                                   .repetition_penalty = 1.3f,
                                   .bias = c.input("bias", {c.size(1)}),
                                   .temperature = 0.5f,
                                   .top_k = 50,
                                   .top_p = 0.9f,
                                   .min_p = 0.01f}));
}

// With a repetition penalty after a long text. Sizes: rows, columns, earlier tokens.
void penalized_sample(CaseGraph& c) {
  c.output(c.graph.sample(c.input("x", {c.size(0), c.size(1)}), {.previous = c.ids("previous", {c.size(2)}, c.size(1)),
                                                                 .repetition_penalty = 1.1f,
                                                                 .bias = c.input("bias", {c.size(1)}),
                                                                 .top_k = 50}));
}

// Each row has its own seed, and some of the earlier tokens. Sizes: texts, rows, columns.
void seeded_sample(CaseGraph& c) {
  const Tensor previous = c.ids("p", {c.size(0), c.size(1), 70}, c.size(2)), counts = c.ids("c", {1}, 70);
  c.output(c.graph.sample(c.x(), {.previous = previous,
                                  .previous_counts = counts,
                                  .repetition_penalty = 1.1f,
                                  .bias = c.input("b", {c.size(2)}),
                                  .seeds = c.ids("s", {c.size(0), c.size(1)}, 1000)}));
}

// clang-format off: it would put each field on a line of its own.
constexpr OpCase kRowCases[] = {
    {.op = "layernorm", .build = residual_layernorm, .label = "residual", .plans = kBoth, .self_test = {{kM, kN}},
     .compilers = {{512, 768}}, .floor = {{70001, 300}}},
    {.op = "layernorm", .build = layernorm, .compilers = {{512, 24}, {512, 200}, {512, 768}, {512, 4096}},
     .bench = {{512, 768}}},
    {.op = "rmsnorm", .build = rmsnorm, .plans = kBoth, .self_test = {{kM, kN}},
     .compilers = {{512, 24}, {512, 200}, {512, 768}, {512, 4096}}, .bench = {{512, 768}}, .floor = {{1000000, 20}}},
    {.op = "reduce", .build = masked_mean, .label = "mean masked", .plans = kBoth, .self_test = {{2, kM, kN}},
     .bench = {{8, 512, 768}}, .floor = {{2, 70, 100}}},
    {.op = "reduce", .build = mean<1>, .label = "mean", .plans = kBoth, .self_test = {{kM, kN}},
     .compilers = {{512, 24}, {512, 200}, {512, 768}, {512, 4096}}, .floor = {{90000, 3}}},
    {.op = "reduce", .build = mean<0>, .label = "mean over rows",
     .compilers = {{512, 24}, {512, 200}, {512, 768}, {512, 4096}}},
    {.op = "reduce", .build = all_reductions, .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "reduce", .build = sum_of_all, .label = "sum of all", .plans = kBoth, .self_test = {{kM, kN}},
     .bench = {{512, 768}}, .floor = {{300, 500}}},
    {.op = "reduce", .build = sums_of_whole_numbers, .label = "whole numbers", .one_type = true, .plans = kBoth,
     .self_test = {{kM, kN}}},
    {.op = "reduce", .build = reduction<Reduction::LogSumExp>, .label = "log-sum-exp", .compilers = {{512, 768}},
     .bench = {{64, kVocabulary}}},
    {.op = "reduce", .build = reduction<Reduction::Max>, .label = "max", .compilers = {{512, 768}},
     .bench = {{64, kVocabulary}}},
    {.op = "cumsum", .build = cumsum_from_the_end, .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "cumsum", .build = cumsum<1>, .label = "of rows", .compilers = {{512, 768}}, .bench = {{512, 768}},
     .floor = {{3, 200}}},
    {.op = "cumsum", .build = cumsum<0>, .label = "of columns", .compilers = {{512, 768}}, .bench = {{512, 768}}},
    {.op = "l2_normalize", .build = l2_normalize, .plans = kBoth, .self_test = {{kM, kN}},
     .compilers = {{512, 24}, {512, 200}, {512, 768}, {512, 4096}}, .bench = {{512, 768}}, .floor = {{3, 200}}},
    {.op = "log_softmax", .build = log_softmax, .plans = kBoth, .self_test = {{kM, kN}},
     .compilers = {{512, 24}, {512, 768}, {512, 4096}}, .bench = {{512, 768}}, .floor = {{3, 200}}},
    {.op = "cross_entropy", .build = smoothed_cross_entropy, .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "cross_entropy", .build = cross_entropy, .compilers = {{512, 4096}}, .bench = {{64, kVocabulary}},
     .floor = {{6, 50000}}},
    {.op = "argmax", .build = argmax, .plans = kBoth, .self_test = {{kM, kN}},
     .compilers = {{512, 24}, {512, 200}, {512, 768}, {512, 4096}}, .bench = {{64, kVocabulary}},
     .floor = {{2, 3, 50000}}},
    {.op = "argmax", .build = last_argmin, .label = "last argmin over rows", .plans = kBoth, .self_test = {{kM, kN}},
     .compilers = {{512, 768}}},
    {.op = "argmax", .build = top_3, .label = "top 3", .plans = kBoth, .self_test = {{kMostM, kN}}},
    {.op = "argmax", .build = top_8, .label = "top 8", .compilers = {{512, 768}}, .bench = {{512, 768}}},
    {.op = "sample", .build = sample_of_everything, .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "sample", .build = sample, .compilers = {{512, 4096}}},
    {.op = "sample", .build = chat_sample, .label = "chat", .bench = {{1, kVocabulary}}},
    {.op = "sample", .build = penalized_sample, .label = "penalized", .compilers = {{1, 151936, 4096}}},
    {.op = "sample", .build = seeded_sample, .label = "seeded", .floor = {{2, 3, 50000}}},
};
// clang-format on

}  // namespace

std::span<const OpCase> row_cases() { return kRowCases; }

}  // namespace heed
