// A small network for tests of the CPU device, with every kind of operation, several extents, and rows that collide in the cache.
#pragma once

#include "cpu/simd/kernels.hpp"
#include "harness/reference.hpp"
#include "harness/setup.hpp"

namespace heed::cpu_test {

// Opens the CPU with each instruction set that this processor supports: run(device, name of the set).
template <class Run>
void on_every_set(const Run& run, uint32_t threads = 2) {
  for (const cpu::Kernels& kernels : cpu::supported_kernels()) {
    Device device = test::open_cpu({.threads = threads, .cpu_instructions = kernels.name});
    run(device, kernels.name);
  }
}

inline std::vector<float> floats(const ops::Sizes& shape, uint64_t seed, double size = 1.0) {
  const ops::Array x = ops::uniform(shape, seed, -size, size);
  return {x.value.begin(), x.value.end()};
}

// Passes x [1, tokens, 48] through attention with dropout, a feed-forward block and norms. Its matmuls have several chunks.
inline Graph network() {
  Graph g;
  const Dim tokens = g.extent("tokens", 150);
  const auto constant = [&](const char* name, const ops::Sizes& shape, uint64_t seed) {
    Shape s;
    for (const int64_t d : shape) s.push_back(d);
    return g.constant(name, s, std::span<const float>(floats(shape, seed, 0.3)));
  };
  Tensor x = g.input("x", {1, tokens, 48});
  const Tensor qkv = g.reshape(g.linear(x, constant("qkv", {144, 48}, 1)), {1, tokens, 3, 4, 12});
  const auto part = [&](int64_t i) { return g.transpose(g.select(qkv, 2, i), 1, 2); };
  const Tensor y = g.attention(part(0), part(1), part(2), {.causal = Causal::TopLeft, .dropout = 0.1f}).output;
  x = g.layernorm(g.add(x, g.reshape(g.transpose(y, 1, 2), {1, tokens, 48})), {}, {}, 1e-5f);
  Tensor h =
      g.activation(g.linear(x, constant("up", {1024, 48}, 2), constant("up_bias", {1024}, 3)), Activation::GeluErf);
  h = g.dropout(g.linear(h, constant("down", {48, 1024}, 4)), 0.2f);
  x = g.rmsnorm(g.add(x, h), {}, 1e-6f);
  g.output("y", x);
  g.output("pooled", g.l2_normalize(g.mean(x, 1)));
  g.output("best", g.argmax(x));
  return g;
}

struct Result {
  Status status = Status::Ok;
  std::vector<float> y, pooled;
  std::vector<int32_t> best;
  bool operator==(const Result&) const = default;
};

inline Result run_network(Plan& plan, int64_t tokens, uint32_t seed) {
  const std::vector<float> x = floats({1, tokens, 48}, 9);
  Result r;
  r.y.resize(static_cast<size_t>(tokens) * 48);
  r.pooled.resize(48);
  r.best.resize(static_cast<size_t>(tokens));
  r.status =
      plan.run({{"x", x}, {"y", r.y}, {"pooled", r.pooled}, {"best", r.best}}, {{"tokens", tokens}}, {.seed = seed});
  return r;
}

}  // namespace heed::cpu_test
