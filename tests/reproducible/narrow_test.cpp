// Tensors of f16 and bf16 in reproducible plans: the host sees the bits of plain loops, rounded once.
#include <algorithm>

#include "base/half.hpp"
#include "harness/setup.hpp"
#include "reproducible/inputs.hpp"

namespace heed::reproducible::narrow {
namespace {

using Halves = std::vector<uint16_t>;

constexpr int64_t kRows = 5, kColumns = 300, kDepth = 77, kProductColumns = 33;
constexpr float kEps = 1e-5f, kAttentionScale = 0.01f;

uint16_t rounded(DType type, float x) { return type == DType::F16 ? float_to_half(x) : float_to_bfloat(x); }
float widened(DType type, uint16_t bits) { return type == DType::F16 ? half_to_float(bits) : bfloat_to_float(bits); }

Halves rounded(DType type, const Floats& values) {
  Halves result;
  for (const float v : values) result.push_back(rounded(type, v));
  return result;
}

struct Inputs {
  DType type;
  std::vector<std::pair<std::string, Halves>> narrow;
  Floats wide;
  std::vector<int32_t> places;

  Inputs(DType of, bool wild) : type(of), wide(values(kRows * kColumns, 50, wild)) {
    uint32_t seed = 40;
    for (const auto& [name, count] : {std::pair{"x", kRows * kColumns},
                                      {"gamma", kColumns},
                                      {"beta", kColumns},
                                      {"a", kRows * kDepth},
                                      {"b", kDepth * kProductColumns},
                                      {"bias", kProductColumns},
                                      {"q", kRows * kDepth},
                                      {"k", kRows * kDepth},
                                      {"v", kRows * kColumns}})
      narrow.emplace_back(name, rounded(type, values(count, seed++, wild)));
    // A NaN, which stays as it is when it is moved, and a subnormal number.
    narrow[0].second[7] = static_cast<uint16_t>(type == DType::F16 ? 0x7d23u : 0x7fa3u);
    narrow[0].second[8] = 0x8001u;
    wide[3] = 0x1.ffep-15f, wide[4] = -0x1.002p-24f, wide[5] = 65520.0f, wide[6] = 0x1.ffffp127f, wide[7] = -0.0f;
    for (int32_t i = 0; i < kRows; ++i) places.push_back((i * 2 + 1) % static_cast<int32_t>(kRows));
  }

  const Halves& bits(std::string_view name) const {
    return std::find_if(narrow.begin(), narrow.end(), [&](const auto& one) { return one.first == name; })->second;
  }
  Floats values_of(std::string_view name) const {
    Floats result;
    for (const uint16_t half : bits(name)) result.push_back(widened(type, half));
    return result;
  }
};

struct Expected {
  std::vector<std::pair<std::string, Halves>> narrow;
  Results wide;
};

Expected expected(const Inputs& in) {
  const Oracle oracle;
  const auto of = [&](const char* name) { return in.values_of(name); };
  const auto canonical = [&](Floats values) {
    for (float& v : values) v = oracle.canonical(v);
    return values;
  };
  const Floats x = of("x"), q = of("q"), k = of("k");
  Halves turned, taken, placed(static_cast<size_t>(kRows * kColumns));
  for (int64_t c = 0; c < kColumns; ++c)
    for (int64_t r = 0; r < kRows; ++r) turned.push_back(in.bits("x")[static_cast<size_t>(r * kColumns + c)]);
  const Halves cast = rounded(in.type, canonical(in.wide));
  for (int64_t r = 0; r < kRows; ++r) {
    const int64_t place = in.places[static_cast<size_t>(r)];
    const auto from = in.bits("x").begin() + place * kColumns;
    taken.insert(taken.end(), from, from + kColumns);
    std::copy_n(cast.begin() + r * kColumns, kColumns, placed.begin() + place * kColumns);
  }
  Floats gelu;
  for (const float v : oracle.multiply(x, Floats(x.size(), 0.5f)))
    gelu.push_back(oracle.canonical(oracle.activate(Activation::GeluTanh, v)));
  const Floats linear = oracle.product(of("a"), of("b"), of("bias"), kRows, kProductColumns, 0.37f, Activation::Silu);
  return {{{"layernorm", rounded(in.type, oracle.layernorm(x, of("gamma"), of("beta"), kColumns, kEps))},
           {"linear", rounded(in.type, linear)},
           {"attention", rounded(in.type, oracle.causal_attention(q, k, of("v"), kRows, kAttentionScale))},
           {"gelu", rounded(in.type, gelu)},
           {"cast", cast},
           {"assigned", cast},
           {"placed", placed},
           {"turned", turned},
           {"taken", taken}},
          {{"log_sum_exp", oracle.log_sum_exp(oracle.causal_scores(q, k, kRows, kAttentionScale), kRows)},
           {"widened", canonical(x)},
           {"rounded", canonical([&] {
              Floats values;
              for (const uint16_t half : cast) values.push_back(widened(in.type, half));
              return values;
            }())}}};
}

Graph graph(DType type) {
  Graph g;
  const auto input = [&](const char* name, const Shape& shape) { return g.input(name, shape, type); };
  const auto head = [&](const char* name, int64_t width) { return input(name, {1, 1, kRows, width}); };
  const Tensor x = input("x", {kRows, kColumns}), wide = g.input("wide", {kRows, kColumns});
  const Tensor places = g.input("places", {kRows}, DType::I32);
  g.output("layernorm", g.layernorm(x, input("gamma", {kColumns}), input("beta", {kColumns}), kEps));
  const Tensor product = g.matmul(input("a", {kRows, kDepth}), input("b", {kDepth, kProductColumns}), {.scale = 0.37f});
  g.output("linear", g.activation(g.add(product, input("bias", {kProductColumns})), Activation::Silu));
  const AttentionResult attention =
      g.attention(head("q", kDepth), head("k", kDepth), head("v", kColumns),
                  {.scale = kAttentionScale, .causal = Causal::TopLeft, .return_log_sum_exp = true});
  g.output("attention", attention.output);
  g.output("log_sum_exp", attention.log_sum_exp);
  g.output("gelu", g.activation(g.scale(x, 0.5f), Activation::GeluTanh));
  const Tensor cast = g.cast(wide, type);
  g.output("cast", cast);
  g.output("rounded", g.cast(cast, DType::F32));
  g.output("widened", g.cast(x, DType::F32));
  g.output("assigned", g.assign(g.state("assigned", {kRows, kColumns}, type), wide));
  g.output("placed", g.append(g.state("placed", {kRows, kColumns}, type), wide, 0, places));
  g.output("turned", g.transpose(x, 0, 1));
  g.output("taken", g.take(x, 0, places));
  REQUIRE(g.status() == Status::Ok);
  return g;
}

void check(Plan& plan, const Inputs& in, const char* what) {
  const Expected want = expected(in);
  Expected got = want;
  for (auto& [name, values] : got.narrow) std::fill(values.begin(), values.end(), uint16_t{0});
  for (auto& [name, values] : got.wide) std::fill(values.begin(), values.end(), 0.0f);
  std::vector<HostBuffer> buffers = {{"wide", in.wide}, {"places", in.places}};
  for (const auto& [name, values] : in.narrow) buffers.emplace_back(name, values);
  for (auto& [name, values] : got.narrow) buffers.emplace_back(name, values);
  for (auto& [name, values] : got.wide) buffers.emplace_back(name, values);
  State state = test::state_of(plan);
  REQUIRE(plan.run(buffers, {}, {.state = state}) == Status::Ok);
  for (size_t i = 0; i < want.narrow.size(); ++i) {
    INFO(want.narrow[i].first << " of " << to_string(in.type) << what);
    CHECK(got.narrow[i].second == want.narrow[i].second);
  }
  check_bits_of(got.wide, want.wide, what);
}

}  // namespace

TEST_CASE("reproducible: f16 and bf16 are rounded once, where the host sees them", "[reproducible]") {
  for (const DType type : {DType::F16, DType::BF16})
    on_devices(graph(type), [&](Plan& plan) {
      for (const bool wild : {false, true}) check(plan, Inputs(type, wild), wild ? " of wild values" : "");
    });
}

}  // namespace heed::reproducible::narrow
