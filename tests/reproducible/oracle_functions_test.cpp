// Elementwise functions of reproducible plans, compared with the canon in plain loops. oracle_test.cpp and oracle_training_test.cpp test
// activations and functions that only gradients use.
#include <bit>
#include <cmath>
#include <limits>

#include "harness/setup.hpp"
#include "reproducible/inputs.hpp"
#include "reproducible/oracle.hpp"

namespace heed::reproducible {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kAlpha = 0.75f;

struct FunctionCase {
  const char* name;
  Tensor (*build)(Graph& g, Tensor a, Tensor b);
  // Operands are flushed. Functions of one operand return NaN for NaN.
  float (*value)(const Oracle& oracle, float a, float b);
  bool of_both = false;
};

#define HEED_ONE(name) [](Graph& g, Tensor a, Tensor) { return g.name(a); }
#define HEED_TWO(name) [](Graph& g, Tensor a, Tensor b) { return g.name(a, b); }
// Comparisons return U8, and logic reads it: casts convert to floats.
#define HEED_TRUTH(name) [](Graph& g, Tensor a, Tensor b) { return g.cast(g.name(a, b), DType::F32); }
#define HEED_ORACLE(expression)                                                                       \
  []([[maybe_unused]] const Oracle& o, [[maybe_unused]] float a, [[maybe_unused]] float b) -> float { \
    return expression;                                                                                \
  }

Tensor is_positive(Graph& g, Tensor x) { return g.gt(x, g.number(0)); }

constexpr FunctionCase kCases[] = {
    {"add", HEED_TWO(add), HEED_ORACLE(a + b), true},
    {"sub", HEED_TWO(sub), HEED_ORACLE(a - b), true},
    {"mul", HEED_TWO(mul), HEED_ORACLE(a* b), true},
    {"div", HEED_TWO(div), HEED_ORACLE(o.quotient(a, b)), true},
    {"mod", HEED_TWO(mod), HEED_ORACLE(o.modulo(a, b)), true},
    {"minimum", HEED_TWO(minimum), HEED_ORACLE(a != a || a < b ? a : b), true},
    {"maximum", HEED_TWO(maximum), HEED_ORACLE(a != a || a > b ? a : b), true},
    {"pow", HEED_TWO(pow), HEED_ORACLE(o.power(a, b)), true},
    {"neg", HEED_ONE(neg), HEED_ORACLE(-a)},
    {"abs", HEED_ONE(abs), HEED_ORACLE(std::fabs(a))},
    {"sign", HEED_ONE(sign),
     HEED_ORACLE(a < 0.0f   ? -1.0f
                 : a > 0.0f ? 1.0f
                            : 0.0f)},
    {"reciprocal", HEED_ONE(reciprocal), HEED_ORACLE(o.quotient(1.0f, a))},
    {"sqrt", HEED_ONE(sqrt), HEED_ORACLE(o.exact_root(a))},
    {"rsqrt", HEED_ONE(rsqrt), HEED_ORACLE(o.inverse_root(a))},
    {"exp", HEED_ONE(exp), HEED_ORACLE(o.any_exp(a))},
    {"log", HEED_ONE(log), HEED_ORACLE(o.any_log(a))},
    {"sin", HEED_ONE(sin), HEED_ORACLE(o.sine(a, 0))},
    {"cos", HEED_ONE(cos), HEED_ORACLE(o.sine(a, 1))},
    {"erf", HEED_ONE(erf), HEED_ORACLE(o.erf(a))},
    {"sigmoid", HEED_ONE(sigmoid), HEED_ORACLE(o.sigmoid(a))},
    {"softplus", HEED_ONE(softplus), HEED_ORACLE(o.softplus(a))},
    {"elu", [](Graph& g, Tensor a, Tensor) { return g.elu(a, kAlpha); }, HEED_ORACLE(o.elu(a, kAlpha))},
    {"floor", HEED_ONE(floor), HEED_ORACLE(std::floor(a))},
    {"round", HEED_ONE(round), HEED_ORACLE(std::nearbyint(a))},
    {"eq", HEED_TRUTH(eq), HEED_ORACLE(a == b), true},
    {"ne", HEED_TRUTH(ne), HEED_ORACLE(a != b), true},
    {"lt", HEED_TRUTH(lt), HEED_ORACLE(a < b), true},
    {"le", HEED_TRUTH(le), HEED_ORACLE(a <= b), true},
    {"gt", HEED_TRUTH(gt), HEED_ORACLE(a > b), true},
    {"ge", HEED_TRUTH(ge), HEED_ORACLE(a >= b), true},
    {"logical_and",
     [](Graph& g, Tensor a, Tensor b) {
       return g.cast(g.logical_and(is_positive(g, a), is_positive(g, b)), DType::F32);
     },
     HEED_ORACLE(a > 0.0f && b > 0.0f), true},
    {"logical_or",
     [](Graph& g, Tensor a, Tensor b) {
       return g.cast(g.logical_or(is_positive(g, a), is_positive(g, b)), DType::F32);
     },
     HEED_ORACLE(a > 0.0f || b > 0.0f), true},
    {"logical_not", [](Graph& g, Tensor a, Tensor) { return g.cast(g.logical_not(is_positive(g, a)), DType::F32); },
     HEED_ORACLE(!(a > 0.0f)), true},
    {"where", [](Graph& g, Tensor a, Tensor b) { return g.where(g.lt(a, b), a, b); }, HEED_ORACLE(a < b ? a : b), true},
    {"to i32", [](Graph& g, Tensor a, Tensor) { return g.cast(g.cast(a, DType::I32), DType::F32); },
     HEED_ORACLE(a != a          ? 0.0f
                 : a >= 0x1p31f  ? 0x1p31f
                 : a <= -0x1p31f ? -0x1p31f
                                 : std::trunc(a)),
     true},
    {"to u8", [](Graph& g, Tensor a, Tensor) { return g.cast(g.cast(a, DType::U8), DType::F32); },
     HEED_ORACLE(a > 0.0f ? std::trunc(std::fmin(a, 255.0f)) : 0.0f), true},
};

// Values of every size, and special values, in all pairs.
struct Operands {
  Floats a, b;

  explicit Operands(bool wild) : a(values(1500, 21, wild)), b(values(1500, 22, wild)) {
    const float special[] = {0.0f,    -0.0f,     1.0f,        -1.0f,      0.5f,        -2.5f,  3.0f,   88.0f,
                             -100.0f, 1e-30f,    kInfinity,   -kInfinity, kNan,        1e38f,  -1e38f, 7e4f,
                             255.75f, 0x1p-126f, 0x1.2p-126f, -0x1p-130f, 16777217.0f, 0x1p31f};
    for (const float x : special)
      for (const float y : special) {
        a.push_back(x);
        b.push_back(y);
      }
  }
};

Results expected(const Oracle& oracle, const Operands& in) {
  Results results;
  for (const FunctionCase& c : kCases) {
    Floats& y = results.emplace_back(c.name, Floats()).second;
    for (size_t i = 0; i < in.a.size(); ++i) {
      const float a = oracle.flush(in.a[i]), b = oracle.flush(in.b[i]);
      y.push_back(oracle.canonical(!c.of_both && a != a ? a : c.value(oracle, a, b)));
    }
  }
  return results;
}

}  // namespace

TEST_CASE("reproducible: elementwise functions are what plain loops compute, bit for bit", "[reproducible]") {
  const auto count = static_cast<int64_t>(Operands(false).a.size());
  Graph g;
  const Tensor a = g.input("a", {count}), b = g.input("b", {count});
  for (const FunctionCase& c : kCases) g.output(c.name, c.build(g, a, b));
  on_devices(g, [](Plan& plan) {
    for (const bool wild : {false, true}) {
      const Operands in(wild);
      const Results want = expected({}, in);
      Results got = want;
      std::vector<HostBuffer> buffers = {{"a", in.a}, {"b", in.b}};
      for (auto& [name, values] : got) buffers.emplace_back(name, values);
      REQUIRE(plan.run(buffers) == Status::Ok);
      check_bits_of(got, want, wild ? " of wild values" : "");
    }
  });
}

TEST_CASE("reproducible: faults change bits of elementwise functions", "[reproducible]") {
  for (const Fault fault : {Fault::LibraryExp, Fault::LibraryLog, Fault::RoughReciprocal, Fault::LibraryRoot,
                            Fault::FusedPolynomial, Fault::KeptSubnormals, Fault::SignedZeros, Fault::PayloadOfNan}) {
    INFO(to_string(fault));
    std::string noticed;
    for (const bool wild : {false, true})
      noticed += differing(expected({}, Operands(wild)), expected({fault}, Operands(wild)));
    CHECK_FALSE(noticed.empty());
  }
}

}  // namespace heed::reproducible
