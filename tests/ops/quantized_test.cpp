// Quantized weights: matmul and embedding give the results of the dequantized values.

#include "harness/catch.hpp"
#include "harness/trial.hpp"
#include "ops/rounded_products.hpp"

namespace heed::ops {
namespace {

struct Layer {
  int64_t m, n, blocks;
  DType type;
  int64_t k() const { return blocks * block_of(type).elements; }
};

// x w^T + bias, activated.
Case layer_case(const Layer& l) {
  return {text_of({l.m, l.n, l.k()}) + " " + to_string(l.type), [l](Trial& t) {
            Array w, b = uniform({l.n}, 42);
            const Tensor weight = t.blocks("w", {l.n, l.k()}, l.type, 41, &w), bias = t.weight("b", &b);
            t.graph.output(
                "y", t.graph.activation(t.graph.linear(t.input("x", {l.m, l.k()}), weight, bias), Activation::Silu));
            Run& run = t.run();
            const Array x = run.input("x", uniform({l.m, l.k()}, 43));
            run.expect("y", activation(add(t.product(x, transposed(w)), b), Activation::Silu),
                       static_cast<double>(l.k()));
            t.passes = {"matmul"};
          }};
}

// Rows from the middle of a weight, together with the whole weight; batches of them; a weight that is also viewed transposed.
Case parts_case(DType type) {
  return {std::string("parts ") + to_string(type), [type](Trial& t) {
            const int64_t k = block_of(type).elements;
            Array w, h;
            const Tensor weight = t.blocks("w", {100, k}, type, 44, &w),
                         heads = t.blocks("h", {3, 37, k}, type, 45, &h);
            const Tensor x = t.input("x", {5, k}), y = t.input("y", {3, 4, k});
            t.graph.output("whole", t.graph.linear(x, weight));
            for (const int64_t first : {32, 64, 3})
              t.graph.output("from" + std::to_string(first),
                             t.graph.matmul(x, t.graph.slice(weight, 0, first, 33), {.transpose_b = true}));
            t.graph.output("view", t.graph.matmul(x, t.graph.transpose(weight, 0, 1)));
            t.graph.output("folded", t.graph.matmul(x, t.graph.reshape(weight, {4, 25, k}), {.transpose_b = true}));
            t.graph.output("batched", t.graph.matmul(y, heads, {.transpose_b = true}));
            t.graph.output("head", t.graph.matmul(x, t.graph.select(heads, 0, 1), {.transpose_b = true}));
            Run& run = t.run();
            const Array vx = run.input("x", uniform({5, k}, 46)), vy = run.input("y", uniform({3, 4, k}, 47));
            const auto terms = static_cast<double>(k);
            run.expect("whole", t.product(vx, transposed(w)), terms);
            for (const int64_t first : {32, 64, 3})
              run.expect("from" + std::to_string(first), t.product(vx, transposed(slice(w, 0, first, 33))), terms);
            run.expect("view", t.product(vx, transposed(w)), terms);
            run.expect("folded", t.product(vx, transposed(reshape(w, {4, 25, k}))), terms);
            run.expect("batched", t.product(vy, transposed(h)), terms);
            run.expect("head", t.product(vx, transposed(reshape(slice(h, 0, 1, 1), {37, k}))), terms);
          }};
}

// An embedding table that is also the weight of the last layer, and a number of rows that differs from run to run.
Case tied_case(DType type) {
  return {std::string("tied ") + to_string(type), [type](Trial& t) {
            const int64_t k = 2 * block_of(type).elements;
            Array w;
            const Dim tokens = t.graph.extent("tokens", 40);
            const Tensor table = t.blocks("w", {67, k}, type, 48, &w);
            const Tensor ids = t.graph.input("ids", {tokens}, DType::I32);
            const Tensor rows = t.graph.embedding(table, ids, t.dtype);
            t.graph.output("rows", rows);
            t.graph.output("part", t.graph.embedding(t.graph.slice(table, 0, 20, 40), ids, t.dtype));
            t.graph.output("logits", t.graph.linear(t.graph.scale(rows, 0.5f), table));
            for (const int64_t n : {40, 1, 2, 13}) {
              Run& run = t.run({{"tokens", n}});
              const Array v = run.input("ids", whole_numbers({n}, 49, 0, 40), DType::I32);
              const Array x = embedding(w, v);
              run.expect_exact("rows", x, t.dtype);
              run.expect_exact("part", embedding(slice(w, 0, 20, 40), v), t.dtype);
              run.expect("logits", t.product(t.stored(scale(t.stored(x), 0.5)), transposed(w)),
                         static_cast<double>(k) + 16.0, 3);
            }
          }};
}

// Epilogues of a matmul, with as many rows as tiles have and one more.
Case epilogue_case(DType type, int64_t m, bool gated) {
  return {std::string(gated ? "gated " : "residual ") + to_string(type) + " " + std::to_string(m), [=](Trial& t) {
            const int64_t k = 3 * block_of(type).elements, n = 45;
            Array w;
            const Tensor weight = t.blocks("w", {n, k}, type, 50, &w), r = t.input("r", {m, n});
            const Tensor y = t.graph.matmul(t.input("x", {m, k}), weight, {.transpose_b = true, .scale = 0.25f});
            t.graph.output("y", gated ? t.graph.mul(y, r) : t.graph.add(y, r));
            Run& run = t.run();
            const Array x = run.input("x", uniform({m, k}, 51)), v = run.input("r", uniform({m, n}, 52));
            const Array product = t.product(x, transposed(w), 0.25);
            run.expect("y", gated ? mul(product, v) : add(product, v), static_cast<double>(k), 2);
            t.passes = {"matmul"};
          }};
}

std::vector<Case> products(std::span<const DType> types) {
  std::vector<Case> cases;
  for (const DType type : types) {
    for (int64_t m = 1; m <= 13; ++m) cases.push_back(layer_case({m, 37, 1 + m % 3, type}));
    for (const int64_t m : {23, 24, 25, 31, 33, 130}) cases.push_back(layer_case({m, 67, 2, type}));
    // Few and many columns; k in several blocks of the CPU, the last of them shorter.
    for (const int64_t m : {1, 2, 33})
      for (const int64_t n : {1, 2, 31, 32, 33, 257}) cases.push_back(layer_case({m, n, 1, type}));
    const int64_t long_k = 2048 / block_of(type).elements;
    for (const int64_t m : {1, 5, 12, 40}) cases.push_back(layer_case({m, 41, long_k + 1, type}));
    // From 4,096 on a GPU invocation reads a longer piece of one row, but not of several rows.
    for (const int64_t m : {1, 5}) cases.push_back(layer_case({m, 3, 2 * long_k + 1, type}));
    cases.push_back(parts_case(type));
    cases.push_back(tied_case(type));
    for (const int64_t m : {1, 8, 13})
      for (const bool gated : {false, true}) cases.push_back(epilogue_case(type, m, gated));
  }
  return cases;
}

// Rows whose element (i, k) is near 2^exponent(i, k), not contiguous along k, with weights of which some have this value.
struct Strange {
  const char* name;
  std::function<int64_t(int64_t, int64_t)> exponent;
  float value = 0.0f;
};
Case strange_case(DType type, const Strange& strange) {
  return {std::string(strange.name) + " " + to_string(type), [=](Trial& t) {
            const int64_t m = 70, n = 66, k = 512;
            Array w;
            const Tensor weight = t.blocks("w", {n, k}, type, 55, &w), x = t.input("x", {k, m});
            t.graph.output("y", t.graph.matmul(t.graph.transpose(x, 0, 1), weight, {.transpose_b = true}));
            Run& run = t.run();
            Array a = uniform({k, m}, 56, 0.5, 1.0);
            for (int64_t i = 0; i < a.size(); ++i)
              a.at(i) = std::ldexp(i % 3 == 0 ? -a.at(i) : a.at(i), static_cast<int>(strange.exponent(i % m, i / m)));
            const int64_t at = 500 * m + 5;
            if (strange.value != 0) a.at(at) = static_cast<double>(strange.value);
            Array seen = run.input("x", a);
            if (!t.rounds_to_f16 && !std::isfinite(seen.at(at)))
              seen.at(at) = NAN;  // all that remains of a row that is rounded to bytes
            run.expect_within("y", t.product(transposed(seen), transposed(w)));
          }};
}

Case multiples_case(DType type) {
  return {std::string("multiples ") + to_string(type), [=](Trial& t) {
            const int64_t m = 70, n = 130, k = 3 * block_of(type).elements;
            t.options.round_rows = true;
            Array w, multiples = whole_numbers({m, k}, 58, -126, 126), near = multiples;
            const Tensor weight = t.blocks("w", {n, k}, type, 57, &w), x = t.input("x", {m, k});
            t.graph.output("y", t.graph.linear(x, weight));
            for (int64_t i = 0; i < m * k; ++i) {
              const int64_t span = i / 32;
              if (i % 32 == span % 32)
                multiples.at(i) = near.at(i) = i % 3 == 0 ? -127.0 : 127.0;
              else
                near.at(i) += 0.375 * static_cast<double>(i % 3 - 1);
              for (Array* values : {&multiples, &near})
                values->at(i) = std::ldexp(values->at(i), static_cast<int>(span % 9) - 12);
            }
            Run& run = t.run();
            run.input("x", near);
            run.expect_within("y", matmul(multiples, transposed(w)));
          }};
}

}  // namespace

std::vector<Case> products_of_multiples(std::span<const DType> types) {
  std::vector<Case> cases;
  for (const DType type : types) cases.push_back(multiples_case(type));
  return cases;
}

std::vector<Case> rounded_products(const CompileOptions& options, bool to_f16, std::span<const DType> types) {
  std::vector<Case> cases = products(types);
  for (const DType type : types) {
    if (type != DType::Q8_0 && type != DType::Q5_1 && type != DType::Q6_K) continue;
    for (const Strange& strange : std::initializer_list<Strange>{
             {"growing along k", [](int64_t, int64_t k) { return k / 8 - 60; }},
             {"shrinking along k", [](int64_t, int64_t k) { return 60 - k / 8; }},
             {"beside f16's range", [](int64_t i, int64_t k) { return i * 7 % 40 - k % 20; }},
             {"infinity", [](int64_t, int64_t) { return 0; }, INFINITY},
             {"NaN", [](int64_t, int64_t) { return 0; }, NAN}})
      cases.push_back(strange_case(type, strange));
  }
  for (Case& one : cases) {
    const auto build = one.build;
    one.build = [=](Trial& t) {
      t.options = options;
      t.rounds_to_f16 = to_f16;
      build(t);
    };
  }
  return cases;
}

TEST_CASE("quantized weights on every device", "[ops][quantized]") { check({"quantized", products(kQuantized)}); }

}  // namespace heed::ops
