#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

// The masks of a case. The key padding masks every key of batch 1, if there is one; other masks hide about half of the keys, and all keys
// of the first row.
struct Masks {
  Causal causal = Causal::None;
  bool key_padding = false;
  Sizes mask = {};  // the bias's shape; empty: none
  Sizes bias = {};
  bool keep = false;          // the meaning of the boolean masks
  bool hide_by_bias = false;  // some of the bias is -infinity
  std::optional<double> fill = {};
};

std::string text_of(const Masks& m) {
  std::string text;
  if (m.causal == Causal::TopLeft) text += " causal top-left";
  if (m.causal == Causal::BottomRight) text += " causal bottom-right";
  if (m.key_padding) text += " key padding";
  if (!m.mask.empty()) text += " mask " + ops::text_of(m.mask);
  if (m.key_padding || !m.mask.empty()) text += m.keep ? " keep" : " exclude";
  if (!m.bias.empty()) text += " bias " + ops::text_of(m.bias);
  if (m.hide_by_bias) text += " with -inf";
  if (m.fill) text += " filled";
  return text;
}

// Nonzero bytes other than 1 also mask.
Array mask_bytes(const Sizes& shape, uint64_t seed, bool keep) {
  Array mask = uniform(shape, seed);
  const int64_t keys = mask.dim(0);
  for (int64_t i = 0; i < mask.size(); ++i) {
    const bool hidden = i < keys || mask.at(i) < 0.0;
    mask.at(i) = hidden == keep ? 0.0 : static_cast<double>(1 + i % 255);
  }
  return mask;
}

Array padding_bytes(int64_t batch, int64_t keys, bool keep) {
  Array mask({batch, keys});
  for (int64_t i = 0; i < mask.size(); ++i) {
    const bool hidden = i / keys == 1 || i % keys >= keys - keys / 3;
    mask.at(i) = hidden == keep ? 0.0 : 1.0;
  }
  return mask;
}

Case masked_case(const Sizes& shape, const Masks& m, double factor = 1.0, double magnitude = 4.0) {
  const std::string name =
      ops::text_of(shape) + text_of(m) + (factor != 1.0 ? " scaled" : "") + (magnitude > 1000.0 ? " large logits" : "");
  return {name, [=](Trial& t) {
            const Tensor x = t.input("x", shape_of(shape));
            Run& run = t.run();
            const Array v = run.input("x", uniform(shape, 21, -magnitude, magnitude));
            SoftmaxOptions options;
            HiddenKeys hidden;
            SoftmaxReference& reference = hidden.reference;
            options.scale = static_cast<float>(factor);
            reference.scale = static_cast<double>(options.scale);
            options.causal = reference.causal = m.causal;
            if (m.fill) options.masked_fill = static_cast<float>(*m.fill);
            reference.masked_fill = m.fill;
            reference.key_padding_keeps = reference.mask_keeps = m.keep;
            const auto sense = [&](Tensor mask) { return m.keep ? keep(mask) : exclude(mask); };
            if (m.key_padding) {
              hidden.give_padding(run, padding_bytes(shape.front(), shape.back(), m.keep));
              options.key_padding = sense(t.graph.input("padding", shape_of(hidden.padding.shape), DType::U8));
            }
            if (!m.mask.empty()) {
              hidden.give_mask(run, mask_bytes(m.mask, 22, m.keep));
              options.mask = sense(t.graph.input("mask", shape_of(m.mask), DType::U8));
            }
            if (!m.bias.empty()) {
              Array bias = uniform(m.bias, 23, -2.0, 2.0);
              for (int64_t i = 0; m.hide_by_bias && i < bias.size(); ++i)
                if (i < bias.dim(0) || bias.at(i) > 1.0) bias.at(i) = -std::numeric_limits<double>::infinity();
              hidden.give_bias(run, bias);
              options.bias = t.input("bias", shape_of(m.bias));
            }
            t.graph.output("y", t.graph.softmax(x, options));
            // A logit of magnitude L has a rounding error of u L, which enters the exponent.
            const double logit = magnitude * std::max(1.0, std::abs(factor));
            run.expect("y", softmax(v, reference), 32.0 + logit * logit);
            t.passes = {"softmax"};
          }};
}

void add_lengths(std::vector<Case>* cases) {
  // Rows shorter than a subgroup, around workgroups of 64 to 1,024, and longer than 16 KiB of shared memory.
  for (const int64_t n :
       {1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 1023, 1024, 1025, 4096, 4097, 9001})
    cases->push_back(masked_case({3, n}, {}));
  cases->push_back(masked_case({70000}, {}));
  cases->push_back(masked_case({2, 70001}, {.mask = {2, 70001}}));
  cases->push_back(masked_case({1}, {}));
  cases->push_back(masked_case({70001, 3}, {}));  // more rows than workgroups along an axis
  cases->push_back(masked_case({2, 3, 5, 9}, {}, 0.125));
  cases->push_back(masked_case({5, 9}, {}, -2.0));
}

void add_masks(std::vector<Case>* cases) {
  for (const Causal causal : {Causal::TopLeft, Causal::BottomRight})
    for (const Sizes& shape :
         {Sizes{2, 2, 5, 5}, Sizes{2, 1, 7, 3}, Sizes{1, 2, 3, 70}, Sizes{70, 33}, Sizes{3, 300, 301}})
      cases->push_back(masked_case(shape, {.causal = causal}));
  const Sizes shape = {3, 2, 5, 37};
  for (const bool keep : {false, true}) {
    cases->push_back(masked_case(shape, {.key_padding = true, .keep = keep}));
    cases->push_back(masked_case({3, 130}, {.key_padding = true, .keep = keep}));
    cases->push_back(masked_case({3, 4, 9}, {.key_padding = true, .keep = keep}));
    for (const Sizes& mask :
         {Sizes{3, 1, 5, 37}, Sizes{3, 2, 5, 37}, Sizes{5, 37}, Sizes{3, 1, 1, 37}, Sizes{5, 1}, Sizes{37}})
      cases->push_back(masked_case(shape, {.mask = mask, .keep = keep}));
    cases->push_back(masked_case(shape, {Causal::TopLeft, true, {3, 2, 5, 37}, {2, 1, 37}, keep}));
    cases->push_back(masked_case(shape, {Causal::BottomRight, true, {3, 1, 5, 37}, {3, 2, 5, 37}, keep, true}));
    cases->push_back(masked_case(shape, {Causal::TopLeft, true, {3, 2, 5, 37}, {}, keep, false, -1e4}));
  }
  cases->push_back(masked_case({2, 9001}, {.key_padding = true, .bias = {9001}}));
  for (const Sizes& bias :
       {Sizes{37}, Sizes{5, 37}, Sizes{2, 5, 37}, Sizes{3, 1, 1, 37}, Sizes{3, 2, 5, 37}, Sizes{1}}) {
    cases->push_back(masked_case(shape, {.bias = bias}, 0.5));
    if (bias.size() > 1) cases->push_back(masked_case(shape, {.bias = bias, .hide_by_bias = true}));
  }
}

// With a fill of -1e9, which only f32 can represent, a row without visible keys becomes uniform.
Case uniform_fill_case() {
  return {"fill of -1e9 over whole rows", [](Trial& t) {
            const Tensor x = t.input("x", {4, 33});
            const Tensor mask = t.graph.input("mask", {4, 1}, DType::U8);
            t.graph.output("y", t.graph.softmax(x, {.mask = exclude(mask), .masked_fill = -1e9f}));
            Run& run = t.run();
            const Array v = run.input("x", uniform({4, 33}, 24));
            const Array m = run.input("mask", values({4, 1}, {1, 0, 1, 0}), DType::U8);
            SoftmaxReference reference;
            reference.mask = &m;
            reference.masked_fill = -1e9;
            const Array y = softmax(v, reference);
            CHECK(y.at(0) == Approx(1.0 / 33.0));
            run.expect("y", y, 64.0);
          }};
}

// A visible NaN makes all visible weights NaN, an infinite logit only its own. Hidden keys have weight 0 in any case.
Case strange_case() {
  return {"infinities and NaN", [](Trial& t) {
            const double inf = std::numeric_limits<double>::infinity();
            t.graph.output("causal", t.graph.softmax(t.input("x", {4, 4}), {.scale = 0.5f, .causal = Causal::TopLeft}));
            t.graph.output("plain", t.graph.softmax(t.input("p", {2, 3})));
            t.graph.output("biased", t.graph.softmax(t.input("z", {2, 3}), {.bias = t.input("bias", {3})}));
            const Tensor mask = t.graph.input("mask", {4100}, DType::U8);
            t.graph.output("long", t.graph.softmax(t.input("l", {2, 4100}), {.mask = exclude(mask)}));
            Run& run = t.run();
            run.input("x", values({4, 4}, {1, NAN, 2, 3, NAN, 1, 5, NAN, inf, 1, 2, NAN, -inf, NAN, 0, 1}));
            run.expect_within("causal", values({4, 4}, {1, 0, 0, 0, NAN, NAN, 0, 0, NAN, 0, 0, 0, 0, NAN, NAN, NAN}),
                              t.dtype);
            run.input("p", values({2, 3}, {-inf, NAN, -100, NAN, -inf, -inf}));
            run.expect_within("plain", values({2, 3}, {0, NAN, NAN, NAN, 0, 0}), t.dtype);
            run.input("z", values({2, 3}, {0, NAN, 0, NAN, inf, -100}));
            run.input("bias", values({3}, {0, -inf, 0}));
            run.expect_within("biased", values({2, 3}, {0.5, 0, 0.5, NAN, 0, NAN}), t.dtype);
            Array l = filled({2, 4100}, 1.0), hidden({4100}), y({2, 4100});
            for (int64_t i = 0; i < 4100; ++i) {
              hidden.at(i) = static_cast<double>(i % 2);
              y.at(i) = i % 2 != 0 ? 0.0 : NAN;
              y.at(4100 + i) = i % 2 != 0 ? 0.0 : 1.0 / 2050.0;
              y.err(4100 + i) = 1e-9;
            }
            l.at(10) = l.at(4100 + 11) = NAN;
            run.input("l", l);
            run.input("mask", hidden, DType::U8);
            run.expect_within("long", t.stored(y), t.dtype);
          }};
}

Case permuted_case() {
  return {"permuted view", [](Trial& t) {
            const Tensor x = t.input("x", {5, 6, 7});
            t.graph.output("y", t.graph.softmax(t.graph.permute(x, {2, 0, 1}), {.causal = Causal::TopLeft}));
            Run& run = t.run();
            const Array v = run.input("x", uniform({5, 6, 7}, 25, -4.0, 4.0));
            run.expect("y", softmax(permute(v, {2, 0, 1}), {.causal = Causal::TopLeft}), 48.0);
          }};
}

Case extents_case() {
  return {"extents", [](Trial& t) {
            const Dim b = t.graph.extent("b", 3), q = t.graph.extent("q", 40), k = t.graph.extent("k", 300);
            const Tensor x = t.input("x", {b, 2, q, k});
            const Tensor padding = t.graph.input("padding", {b, k}, DType::U8);
            t.graph.output("y", t.graph.softmax(x, {.causal = Causal::BottomRight, .key_padding = exclude(padding)}));
            for (const auto& s : {std::array<int64_t, 3>{3, 40, 300}, {1, 1, 1}, {2, 7, 129}, {2, 40, 3}}) {
              Run& run = t.run({{"b", s[0]}, {"q", s[1]}, {"k", s[2]}});
              const Array v = run.input("x", uniform({s[0], 2, s[1], s[2]}, 26, -4.0, 4.0));
              const Array p = run.input("padding", padding_bytes(s[0], s[2], false), DType::U8);
              SoftmaxReference reference;
              reference.causal = Causal::BottomRight;
              reference.key_padding = &p;
              run.expect("y", softmax(v, reference), 48.0);
            }
          }};
}

}  // namespace

TEST_CASE("softmax on every device", "[ops]") {
  Operation operation{"softmax", {}};
  add_lengths(&operation.cases);
  add_masks(&operation.cases);
  operation.cases.push_back(masked_case({4, 65}, {}, 1.0, 1e4));
  operation.cases.push_back(masked_case({4, 65}, {.causal = Causal::TopLeft, .mask = {4, 65}}, 1.0, 1e4));
  operation.cases.push_back(uniform_fill_case());
  operation.cases.push_back(strange_case());
  operation.cases.push_back(permuted_case());
  operation.cases.push_back(extents_case());
  check(operation);
}

}  // namespace heed::ops
