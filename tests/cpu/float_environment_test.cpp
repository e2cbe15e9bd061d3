// heed on host threads that have their own floating-point environment.
#include <cfenv>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "cpu/support.hpp"

namespace heed::cpu_test {
namespace {

// A floating-point environment that a host may have set on this thread.
struct Environment {
  const char* name;
  void (*set)();
};
const Environment kEnvironments[] = {
    {"upward", [] { std::fesetround(FE_UPWARD); }},
    {"downward", [] { std::fesetround(FE_DOWNWARD); }},
    {"toward zero", [] { std::fesetround(FE_TOWARDZERO); }},
#if defined(__SSE__)
    {"subnormals flushed", [] { _mm_setcsr(_mm_getcsr() | 0x8040); }},
#endif
#if defined(__SSE__) && defined(__GLIBC__)
    {"traps", [] { feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW); }},
#endif
};

// Calls f in the environment. True if the environment is the same afterwards, flags included.
template <class F>
bool keeps(const Environment& environment, const F& f) {
  std::fenv_t usual;
  std::feholdexcept(&usual);
  std::fesetenv(FE_DFL_ENV);
  std::feraiseexcept(FE_DIVBYZERO);
  environment.set();
  const int mode = std::fegetround();
#if defined(__SSE__)
  const unsigned control = _mm_getcsr();
  f();
  const bool same = std::fegetround() == mode && _mm_getcsr() == control;
#else
  f();
  const bool same = std::fegetround() == mode && std::fetestexcept(FE_ALL_EXCEPT) == FE_DIVBYZERO;
#endif
  std::fesetenv(&usual);
  return same;
}

// Subnormal operands and results, rows without visible keys, and a power that overflows.
Graph small_numbers() {
  Graph g;
  const Tensor x = g.input("x", {64, 64});
  g.output("halves", g.scale(x, 0.5f));
  g.output("weights", g.softmax(x, {.causal = Causal::TopLeft}));
  g.output("products", g.matmul(x, g.weight("w", {64, 64}, DType::F16)));
  const Tensor heads = g.reshape(x, {1, 4, 16, 64});
  g.output("seen", g.attention(heads, heads, heads, {.mask = keep(g.input("mask", {16}, DType::U8))}).output);
  return g;
}

// Data that must be computed before the environment is set.
struct Inputs {
  std::vector<float> x = floats({64, 64}, 3, 90.0), w = floats({64, 64}, 4, 1e-6);
  Inputs() {
    for (size_t i = 0; i < x.size(); i += 3) x[i] *= 1e-38f;
  }
};

struct Numbers {
  std::vector<float> halves, weights, products, seen;
  bool operator==(const Numbers&) const = default;
};

Numbers run_small_numbers(Device& device, const Inputs& in, Status* status) {
  const std::vector<uint8_t> mask(16, 0);
  const int64_t shape[] = {64, 64};
  const HostTensor tensor = {"w", DType::F32, shape, std::as_bytes(std::span(in.w))};
  Weights weights;
  Plan plan;
  Numbers y{std::vector<float>(4096), std::vector<float>(4096), std::vector<float>(4096), std::vector<float>(4096)};
  *status = device.upload({&tensor, 1}, &weights, {.keep_dtype = false, .dtype = DType::F16});
  if (*status == Status::Ok) *status = device.compile(small_numbers(), weights, &plan);
  if (*status == Status::Ok)
    *status = plan.run({{"x", in.x},
                        {"mask", mask},
                        {"halves", y.halves},
                        {"weights", y.weights},
                        {"products", y.products},
                        {"seen", y.seen}});
  return y;
}

}  // namespace

TEST_CASE("results do not depend on a thread's floating-point environment, which stays as it is", "[cpu]") {
  const Inputs inputs;
  for (const uint32_t threads : {1u, 2u}) {
    Device device = test::open_cpu({.threads = threads});
    Status status = Status::Ok;
    const Numbers expected = run_small_numbers(device, inputs, &status);
    REQUIRE(status == Status::Ok);
    Plan plan = test::compiled(device, network(), {}, {.training = true});
    const Result trained = run_network(plan, 37, 3);
    for (const Environment& environment : kEnvironments) {
      INFO(environment.name << ", " << threads << " threads");
      const std::vector<float> x = floats({1, 37, 48}, 9);
      Numbers numbers;
      Result result = trained;
      (void)keeps(environment, [&] { numbers = run_small_numbers(device, inputs, &status); });
      const bool kept = keeps(environment, [&] {
        result.status = plan.run({{"x", x}, {"y", result.y}, {"pooled", result.pooled}, {"best", result.best}},
                                 {{"tokens", 37}}, {.seed = 3});
      });
      CHECK(status == Status::Ok);
      CHECK(numbers == expected);
      CHECK(result == trained);
      CHECK(kept);
    }
  }
}

}  // namespace heed::cpu_test
