// Matmuls of few rows that become one pass on GPUs: up to three with the same rows, the norm before them, and the rotation or the gate
// after them. Other devices run them separately, so that these cases do not check passes; tests/graph/project_test.cpp does.
#include "harness/setup.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

enum class Norm : uint8_t { None, Root, Mean };

struct Projected {
  int64_t batch = 1, tokens = 1, depth = 64;
  Norm norm = Norm::Root;
  bool gamma = true, beta = true;  // only LayerNorm has a beta
  bool bias = false;
  bool narrow = false;     // weights of f16 with rows of f32
  double magnitude = 1.0;  // mean of the rows
  double around = 0.0;
  std::vector<DType> quantized = {};  // types of weights, which alternate
};

std::string text_of(const Projected& p) {
  std::string quantized;
  for (const DType type : p.quantized) quantized += std::string(" ") + to_string(type);
  const char* const norms[] = {"", " norm", " layernorm"};
  return ops::text_of({p.batch, p.tokens, p.depth}) + norms[static_cast<int>(p.norm)] +
         (p.gamma || p.norm == Norm::None ? "" : " without gamma") +
         (p.beta || p.norm != Norm::Mean ? "" : " without beta") + (p.bias ? " bias" : "") +
         (p.narrow ? " f16 weights" : "") + (p.magnitude != 1.0 ? " of large rows" : "") +
         (p.around != 0.0 ? " far from 0" : "") + quantized;
}

// Builds a graph and its reference side by side.
class Sides {
 public:
  Sides(Trial& trial, const Projected& what) : t(trial), run(trial.run()), p_(what) {
    const Sizes shape = {p_.batch, p_.tokens, p_.depth};
    const Array x = run.input("x", uniform(shape, 161, p_.around - p_.magnitude, p_.around + p_.magnitude));
    // A pass computes the rows: rows in a host's buffer may start anywhere, and are not joined.
    rows = t.graph.scale(t.input("x", shape_of(shape)), 0.5f);
    values = t.stored(scale(x, 0.5));
    if (p_.norm == Norm::None) return;
    Array gamma = uniform({p_.depth}, 163, 0.5, 1.5), beta = uniform({p_.depth}, 162);
    const Array *const scales = p_.gamma ? &gamma : nullptr, *const shifts = p_.beta ? &beta : nullptr;
    const Tensor gammas = p_.gamma ? t.weight("norm.gamma", &gamma) : Tensor();
    if (p_.norm == Norm::Root) {
      rows = t.graph.rmsnorm(rows, gammas, 1e-5f);
      values = t.stored(rmsnorm(values, scales, 1e-5));
    } else {
      rows = t.graph.layernorm(rows, gammas, p_.beta ? t.weight("norm.beta", &beta) : Tensor(), 1e-5f);
      values = t.stored(layernorm(values, scales, shifts, 1e-5));
    }
  }

  struct Both {
    Tensor tensor;
    Array values;
  };
  Both product(const std::string& name, int64_t columns) {
    Array w;
    const Tensor weight = matrix(name + ".weight", columns, &w);
    Both y = {t.graph.linear(rows, weight), t.stored(matmul(values, transposed(w)))};
    if (!p_.bias) return y;
    Array b = uniform({columns}, 165);
    y.tensor = t.graph.add(y.tensor, t.weight(name + ".bias", &b));
    y.values = t.stored(add(y.values, b));
    return y;
  }
  Tensor matrix(const std::string& name, int64_t columns, Array* w) {
    const uint64_t seed = 164 + static_cast<uint64_t>(columns);
    if (!p_.quantized.empty())
      return t.blocks(name, {columns, p_.depth}, p_.quantized[made_++ % p_.quantized.size()], seed, w);
    const double limit = 1.0 / std::sqrt(static_cast<double>(p_.depth));
    *w = uniform({columns, p_.depth}, seed, -limit, limit);
    return t.weight(name, w, p_.narrow && t.dtype == DType::F32 ? DType::F16 : t.dtype);
  }
  // The heads of a matmul, rotated: [B, heads, S, width].
  Both turned(const Both& x, int64_t heads, const RotaryOptions& options, const Array* positions) {
    const int64_t width = x.values.dim(0) / heads;
    const Tensor split = t.graph.reshape(x.tensor, {p_.batch, p_.tokens, heads, width});
    const Array array = permute(reshape(x.values, {p_.batch, p_.tokens, heads, width}), {0, 2, 1, 3});
    return {t.graph.rotary(t.graph.transpose(split, 1, 2), options), t.stored(rotary(array, options, positions))};
  }
  void expect(const char* name, const Both& y) {
    t.graph.output(name, y.tensor);
    run.expect(name, y.values, 4.0 * static_cast<double>(p_.depth), 6);
  }

  Trial& t;
  Run& run;
  Tensor rows;
  Array values;

 private:
  Projected p_;
  size_t made_ = 0;  // number of matrices so far
};

Case heads_case(const Projected& p, std::vector<int64_t> heads, int64_t width, const RotaryOptions& options,
                bool positions) {
  const std::string name = "heads of " + text_of(p) + " x " + std::to_string(heads.size()) + " of width " +
                           std::to_string(width) + (options.pairs == RotaryPairs::Halves ? " halves" : " adjacent") +
                           (options.width != 0 ? " partial" : "") + (positions ? " at given positions" : "");
  return {name, [=](Trial& t) {
            Sides sides(t, p);
            RotaryOptions given = options;
            Array at;
            if (positions) {
              given.positions = t.graph.input("at", {p.batch, 1, p.tokens}, DType::I32);
              at = sides.run.input("at", whole_numbers({p.batch, 1, p.tokens}, 166, 0, 4000), DType::I32);
            }
            const char* const names[] = {"q", "k", "v"};
            for (size_t i = 0; i < heads.size(); ++i) {
              const Sides::Both y = sides.product(names[i], heads[i] * width);
              sides.expect(names[i], i < 2 ? sides.turned(y, heads[i], given, positions ? &at : nullptr) : y);
            }
          }};
}

Case gated_case(const Projected& p, int64_t columns, Activation kind) {
  return {"gate of " + text_of(p) + " x " + std::to_string(columns) + " activation " +
              std::to_string(static_cast<int>(kind)),
          [=](Trial& t) {
            Sides sides(t, p);
            Sides::Both gate = sides.product("gate", columns), up = sides.product("up", columns);
            if (kind != Activation::None)
              gate = {t.graph.activation(gate.tensor, kind), t.stored(activation(gate.values, kind))};
            sides.expect("y", {t.graph.mul(gate.tensor, up.tensor), t.stored(mul(gate.values, up.values))});
          }};
}

Case plain_case(const Projected& p, std::vector<int64_t> columns) {
  return {"products of " + text_of(p) + " x " + ops::text_of(columns), [=](Trial& t) {
            Sides sides(t, p);
            for (size_t i = 0; i < columns.size(); ++i) {
              const std::string name = "y" + std::to_string(i);
              sides.expect(name.c_str(), sides.product(name, columns[i]));
            }
          }};
}

Case activated_case(const Projected& p, int64_t columns, Activation kind) {
  return {
      "activation " + std::to_string(static_cast<int>(kind)) + " of " + text_of(p) + " x " + std::to_string(columns),
      [=](Trial& t) {
        Sides sides(t, p);
        const Sides::Both y = sides.product("y", columns);
        sides.expect("out", {t.graph.activation(y.tensor, kind), t.stored(activation(y.values, kind))});
      }};
}

// Rows whose number differs from run to run.
Case extents_case() {
  return {"sequences of extents", [](Trial& t) {
            const Dim b = t.graph.extent("b", 2), s = t.graph.extent("s", 4);
            Array gamma = uniform({40}, 171), wq = uniform({24, 40}, 172), wk = uniform({8, 40}, 173);
            const Tensor x = t.graph.scale(t.input("x", {b, s, 40}), 2.0f);
            const Tensor rows = t.graph.rmsnorm(x, t.weight("gamma", &gamma), 1e-5f);
            const RotaryOptions options;
            const auto turn = [&](const char* name, Array* w, int64_t heads) {
              const Tensor y = t.graph.reshape(t.graph.linear(rows, t.weight(name, w)), {b, s, heads, 8});
              return t.graph.rotary(t.graph.transpose(y, 1, 2), options);
            };
            t.graph.output("q", turn("wq", &wq, 3));
            t.graph.output("k", turn("wk", &wk, 1));
            for (const auto& e : {std::array<int64_t, 2>{2, 4}, {1, 1}, {2, 3}}) {
              Run& run = t.run({{"b", e[0]}, {"s", e[1]}});
              const Array v = t.stored(scale(run.input("x", uniform({e[0], e[1], 40}, 174)), 2.0));
              const Array normed = t.stored(rmsnorm(v, &gamma, 1e-5));
              for (const auto& [name, w, heads] : {std::tuple("q", &wq, 3), {"k", &wk, 1}}) {
                const Array y = reshape(t.stored(matmul(normed, transposed(*w))), {e[0], e[1], heads, 8});
                run.expect(name, rotary(permute(y, {0, 2, 1, 3}), options, nullptr), 160.0, 6);
              }
            }
          }};
}

}  // namespace

TEST_CASE("projections of few rows on every device", "[ops]") {
  Operation operation{"projection", {}};
  auto& cases = operation.cases;

  const RotaryOptions halves, adjacent{.pairs = RotaryPairs::Adjacent};
  for (const int64_t tokens : {1, 3, 8}) {
    cases.push_back(heads_case({.tokens = tokens}, {3, 1, 1}, 16, halves, false));
    cases.push_back(heads_case({.tokens = tokens, .bias = true}, {3, 1, 1}, 16, adjacent, false));
    cases.push_back(gated_case({.tokens = tokens}, 24, Activation::Silu));
  }
  cases.push_back(heads_case({.batch = 2, .tokens = 3, .depth = 72}, {2, 2, 2}, 20, {.width = 12}, true));
  cases.push_back(heads_case({.batch = 4, .tokens = 2, .norm = Norm::None}, {2, 2}, 12, {.width = 4}, false));
  cases.push_back(heads_case({.batch = 8, .depth = 8, .bias = true}, {5, 3, 3}, 4, adjacent, true));
  cases.push_back(heads_case({.depth = 576, .narrow = true}, {9, 3, 3}, 64, {.base = 100000.0f}, false));
  cases.push_back(heads_case({.batch = 3, .depth = 1032, .gamma = false, .narrow = true}, {1}, 32, halves, true));
  for (const Activation kind : {Activation::None, Activation::GeluErf, Activation::GeluTanh, Activation::Relu})
    cases.push_back(gated_case({.tokens = 2, .bias = true}, 12, kind));
  cases.push_back(gated_case({.batch = 5, .depth = 200, .norm = Norm::None, .narrow = true}, 260, Activation::Silu));
  cases.push_back(gated_case({.gamma = false}, 4, Activation::Tanh));
  cases.push_back(plain_case({.tokens = 7, .depth = 136}, {4}));
  cases.push_back(plain_case({.tokens = 2, .norm = Norm::None, .bias = true}, {40, 8, 12, 16}));
  cases.push_back(plain_case({.tokens = 2, .bias = true, .narrow = true}, {8, 2052}));
  cases.push_back(extents_case());
  check(operation);
}

// The same with LayerNorm, and with depths that are no multiples of eight, whose norm is a separate pass.
TEST_CASE("projections of few rows behind LayerNorm on every device", "[ops]") {
  Operation operation{"projection", {}};
  auto& cases = operation.cases;
  constexpr Norm kMean = Norm::Mean;
  for (const int64_t tokens : {1, 3, 8}) {
    cases.push_back(heads_case({.tokens = tokens, .norm = kMean, .bias = true}, {3, 1, 1}, 16, {}, false));
    cases.push_back(gated_case({.tokens = tokens, .norm = kMean}, 24, Activation::Silu));
    cases.push_back(activated_case({.tokens = tokens, .depth = 72, .norm = kMean}, 12, Activation::GeluErf));
  }
  cases.push_back(plain_case({.depth = 384, .norm = kMean, .bias = true, .narrow = true}, {16, 8, 8}));
  cases.push_back(plain_case({.batch = 5, .depth = 1032, .norm = kMean, .gamma = false}, {8}));
  cases.push_back(plain_case({.tokens = 2, .norm = kMean, .beta = false}, {8, 12}));
  cases.push_back(plain_case({.tokens = 4, .depth = 8, .norm = kMean, .gamma = false, .beta = false}, {4, 4}));
  cases.push_back(activated_case({.depth = 2056, .norm = kMean, .narrow = true}, 4, Activation::GeluTanh));
  cases.push_back(activated_case({.tokens = 2, .bias = true}, 20, Activation::Relu));
  for (const int64_t depth : {1, 7, 2049})
    cases.push_back(activated_case({.tokens = 2, .depth = depth, .norm = kMean}, 8, Activation::Silu));
  check(operation);
}

TEST_CASE("projections by quantized weights on every device", "[ops][quantized]") {
  Operation operation{"projection", {}};
  auto& cases = operation.cases;
  const RotaryOptions halves, adjacent{.pairs = RotaryPairs::Adjacent};
  for (int i = 0; i < kDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    if (!is_quantized(type)) continue;
    const int64_t block = block_of(type).elements;
    for (const int64_t tokens : {1, 3, 8}) {
      cases.push_back(heads_case({.tokens = tokens, .depth = block, .bias = true, .quantized = {type}}, {3, 1, 1}, 16,
                                 tokens == 3 ? adjacent : halves, tokens != 3));
      cases.push_back(gated_case({.tokens = tokens, .depth = 3 * block, .quantized = {type}}, 20, Activation::Silu));
    }
    cases.push_back(
        activated_case({.depth = 3 * block, .norm = Norm::Mean, .quantized = {type}}, 16, Activation::GeluErf));
    // Loads of 16 bytes.
    cases.push_back(plain_case({.tokens = 2, .depth = 4096 + block, .quantized = {type}}, {8, 4}));
  }
  // Files mix types: values have more bits than queries and keys.
  cases.push_back(heads_case({.tokens = 2, .depth = 512, .quantized = {DType::Q4_K, DType::Q5_1, DType::Q6_K}},
                             {3, 1, 1}, 16, halves, false));
  cases.push_back(
      heads_case({.depth = 512, .quantized = {DType::Q4_K, DType::Q4_K, DType::Q6_K}}, {2, 2, 2}, 8, adjacent, true));
  cases.push_back(
      plain_case({.tokens = 5, .depth = 768, .norm = Norm::None, .quantized = {DType::Q8_0, DType::Q5_K}}, {12, 16}));
  cases.push_back(gated_case({.depth = 256, .quantized = {DType::Q4_0, DType::Q5_0}}, 8, Activation::Silu));
  const std::vector<TestDevice> devices = devices_for_quantized_projections();
  if (!devices.empty()) check(operation, devices);
}

// The squares of these rows overflow f32, or their mean is far larger than their deviation.
TEST_CASE("projections of rows near 1e19 on every device", "[ops]") {
  Operation operation{"projection", {}, {DType::F32}};
  for (const double magnitude : {1e19, 1e-25, 1e38})
    operation.cases.push_back(plain_case({.tokens = 2, .magnitude = magnitude}, {8, 4}));
  // The sum of a row, from which the mean is computed, stays within f32.
  for (const double magnitude : {1e19, 1e-25, 1e34})
    operation.cases.push_back(plain_case({.tokens = 2, .norm = Norm::Mean, .magnitude = magnitude}, {8, 4}));
  operation.cases.push_back(plain_case({.tokens = 3, .norm = Norm::Mean, .around = 10000.0}, {8, 4}));
  check(operation);
}

}  // namespace heed::ops
