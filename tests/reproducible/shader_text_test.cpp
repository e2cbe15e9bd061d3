// Compiles the functions of shaders/shared/canon.glsl as C++ and compares them with the oracle. So the text that devices run is tested.
#include <bit>
#include <cmath>

#include "base/half.hpp"
#include "harness/catch.hpp"
#include "reproducible/oracle.hpp"

namespace heed::reproducible {
namespace {

namespace glsl {

// The part of GLSL that the file needs.
using uint = uint32_t;
struct vec2 {
  float x, y;
  vec2(float a, float b) : x(a), y(b) {}
};
struct vec4 {
  float x, y, z, w;
  vec4(float a, float b, float c, float d) : x(a), y(b), z(c), w(d) {}
  explicit vec4(float a) : vec4(a, a, a, a) {}
};
[[maybe_unused]] vec4 operator+(vec4 a, vec4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
[[maybe_unused]] vec4 operator-(vec4 a, vec4 b) { return {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w}; }
[[maybe_unused]] vec4 operator*(vec4 a, vec4 b) { return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w}; }
float uintBitsToFloat(uint bits) { return std::bit_cast<float>(bits); }
uint floatBitsToUint(float x) { return std::bit_cast<uint>(x); }
float abs(float x) { return std::fabs(x); }
bool is_nan(float x) { return x != x; }

// GLSL literals without a suffix are floats.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function"
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wimplicit-float-conversion"
#else
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#endif
#endif
#define precise
#define HEED_CLASSIFY_GLSL
#include "shared/canon.glsl"
#undef HEED_CLASSIFY_GLSL
#undef precise

}  // namespace glsl

// Every magnitude and sign, 2^17 numbers.
template <class Visit>
void each_number(const Visit& visit) {
  for (uint32_t i = 0; i < 1u << 17; ++i) visit(std::bit_cast<float>(i << 15 | (i * 2654435761u >> 17)));
}

bool same(float a, float b) { return (a != a && b != b) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

}  // namespace

TEST_CASE("reproducible: the text of the shaders computes what the oracle does", "[reproducible]") {
  const Oracle oracle;
  int wrong = 0, compared = 0;
  const auto compare = [&](const char* what, float x, float got, float want) {
    ++compared;
    if (same(got, want) || ++wrong > 5) return;
    UNSCOPED_INFO(what << " of " << x << " is " << got << ", not " << want);
    CHECK(same(got, want));
  };
  each_number([&](float any) {
    compare("canonical", any, glsl::canonical(any), oracle.canonical(any));
    const float x = glsl::flushed(any);
    compare("exp", x, glsl::canon_exp(x), oracle.exp(x));
    if (x > 0x1p-64f && x < 0x1p64f) compare("reciprocal", x, glsl::reciprocal(x), oracle.reciprocal(x));
    if (x > 0) compare("reciprocal_root", x, glsl::reciprocal_root(x), oracle.reciprocal_root(x));
    if (x > 0) compare("log", x, glsl::canon_log(x), oracle.log(x));
    if (x >= 0) compare("root", x, glsl::canon_root(x), oracle.root(x));
    if (x <= 0 && x >= -0x1p20f) compare("one_less_power", x, glsl::one_less_power(x), oracle.one_less_power(x));
    compare("half_bits", any, static_cast<float>(glsl::half_bits(any)), static_cast<float>(float_to_half(any)));
    if (x != x) return;
    if (x >= 0 && x <= 6) compare("normal_tail", x, glsl::canon_normal_tail(x), oracle.normal_tail(x));
    compare("gelu_erf", x, glsl::canon_gelu_erf(x), oracle.activate(Activation::GeluErf, x));
    compare("gelu_tanh", x, glsl::canon_gelu_tanh(x), oracle.activate(Activation::GeluTanh, x));
    compare("silu", x, glsl::canon_silu(x), oracle.activate(Activation::Silu, x));
    compare("tanh", x, glsl::flushed(glsl::canon_tanh(x)), oracle.activate(Activation::Tanh, x));
  });
  CHECK(wrong == 0);
  CHECK(compared > 500'000);
}

TEST_CASE("reproducible: the text of the shaders widens every f16 without a flush", "[reproducible]") {
  for (uint32_t bits = 0; bits < 1u << 16; ++bits) {
    const uint32_t exponent = bits >> 10 & 31u, mantissa = bits & 1023u;
    double want = exponent == 0    ? std::ldexp(mantissa, -24)
                  : exponent == 31 ? (mantissa == 0 ? HUGE_VAL : std::nan(""))
                                   : std::ldexp(1024 + mantissa, static_cast<int>(exponent) - 25);
    if ((bits & 0x8000u) != 0) want = -want;
    if (!same(glsl::half_of(bits | 0xabcd0000u), static_cast<float>(want))) FAIL_CHECK(bits);
  }
}

}  // namespace heed::reproducible
