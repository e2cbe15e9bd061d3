// Every kernel variant at sizes drawn at random, against the references in double. A case is one graph whose
// sizes are extents, so that many sizes share what a driver has compiled; some sizes are constants, which
// plans treat differently.
//
// Each case prints nothing unless it fails; its name then says seed and number. HEED_RANDOM_SEED=N draws
// others.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "catch.hpp"
#include "ops/devices.hpp"
#include "ops/trial.hpp"

namespace heed::ops {
namespace {

constexpr int kRuns = 10;  // sizes per graph

// SplitMix64 (Steele, Lea, Flood 2014): the same numbers everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  bool coin() { return below(2) == 0; }
  int64_t pick(std::initializer_list<int64_t> list) {
    return list.begin()[below(static_cast<int64_t>(list.size()))];
  }
  // 1..most; often a multiple of four, where kernels read four elements at a time, or one off a tile's edge.
  int64_t size(int64_t most) {
    const int64_t any = 1 + below(most), edge = pick({8, 16, 32, 64, 128, 256}) + pick({-1, 0, 1});
    const int64_t drawn = below(3) == 0 ? edge : coin() ? any : (any + 3) / 4 * 4;
    return drawn <= most ? drawn : any;
  }

 private:
  uint64_t state_;
};

// Sizes of one graph: extents, or constants that every run has.
class Drawn {
 public:
  Drawn(Trial& trial, Random& random) : trial_(trial), random_(random) {}
  Dim size(const char* name, int64_t most, bool constant) {
    Size size = {name, most, constant ? random_.size(most) : 0};
    sizes_.push_back(size);
    return constant ? Dim(size.value) : trial_.graph.extent(name, most);
  }
  // Draws the extents of a run; values in the order of the calls of size().
  Run& run(Sizes* values) {
    std::vector<ExtentValue> extents;
    values->clear();
    for (const Size& size : sizes_) {
      values->push_back(size.value > 0 ? size.value : random_.size(size.most));
      if (size.value == 0) extents.push_back({size.name, values->back()});
    }
    Run& run = trial_.run(extents);
    run.options.seed = static_cast<uint32_t>(random_.next());
    return run;
  }

 private:
  struct Size {
    const char* name;
    int64_t most, value;
  };
  Trial& trial_;
  Random& random_;
  std::vector<Size> sizes_;
};

void build_matmul(Trial& t, Random& random) {
  const bool transpose = random.coin(), constants = random.coin(), bias = random.coin(),
             residual = random.coin();
  const auto kind = static_cast<Activation>(random.below(6));
  Drawn drawn(t, random);
  const Dim batch = drawn.size("batch", 3, false), m = drawn.size("m", 70, false),
            n = drawn.size("n", 140, constants), k = drawn.size("k", random.pick({90, 90, 400, 1500}), constants);
  const Tensor x = t.input("x", {batch, m, k}), w = transpose ? t.input("w", {n, k}) : t.input("w", {k, n});
  Tensor y = t.graph.matmul(x, w, {.transpose_b = transpose, .scale = 0.5f});
  if (bias) y = t.graph.add(y, t.input("bias", {n}));
  if (kind != Activation::None) y = t.graph.activation(y, kind);
  if (residual) y = t.graph.add(y, t.input("residual", {batch, m, n}));
  t.graph.output("y", y);
  for (int i = 0; i < kRuns; ++i) {
    Sizes s;
    Run& run = drawn.run(&s);
    const uint64_t seed = random.next();
    const Array vx = run.input("x", uniform({s[0], s[1], s[3]}, seed));
    Array vw = run.input("w", uniform(transpose ? Sizes{s[2], s[3]} : Sizes{s[3], s[2]}, seed + 1));
    Array v = matmul(vx, transpose ? transposed(vw) : vw, 0.5);
    if (bias) v = add(v, run.input("bias", uniform({s[2]}, seed + 2)));
    if (kind != Activation::None) v = activation(v, kind);
    if (residual) v = add(v, run.input("residual", uniform({s[0], s[1], s[2]}, seed + 3)));
    run.expect("y", v, static_cast<double>(s[3]) + 16.0, 2);
  }
}

Array bytes(const Sizes& shape, uint64_t seed) {
  Array mask = uniform(shape, seed);
  for (int64_t i = 0; i < mask.size(); ++i) mask.at(i) = mask.at(i) < 0.0 ? 0.0 : 1.0;
  return mask;
}

void build_attention(Trial& t, Random& random) {
  const int64_t group = random.pick({1, 1, 2, 3}), heads = group * random.pick({1, 2});
  const int64_t d_k = random.pick({8, 20, 33, 64}), d_v = random.coin() ? d_k : random.pick({12, 33, 64, 80});
  const auto causal = static_cast<Causal>(random.below(3));
  const bool padded = random.coin(), masked = random.coin(), biased = random.coin(),
             filled = random.below(4) == 0;
  Drawn drawn(t, random);
  const Dim batch = drawn.size("batch", 2, false), queries = drawn.size("queries", 70, false),
            keys = drawn.size("keys", 150, random.below(3) == 0);
  AttentionOptions options;
  options.causal = causal;
  if (filled) options.masked_fill = -1e4f;
  if (padded) options.key_padding = keep(t.graph.input("padding", {batch, keys}, DType::U8));
  if (masked) options.mask = exclude(t.graph.input("mask", {queries, keys}, DType::U8));
  if (biased) options.bias = t.input("bias", {heads, 1, keys});
  // Heads side by side in memory, as projections leave them.
  const auto heads_of = [&](const char* name, Dim length, int64_t count, int64_t width) {
    return t.graph.transpose(t.input(name, {batch, length, count, width}), 1, 2);
  };
  t.graph.output("y",
                 t.graph
                     .attention(heads_of("q", queries, heads, d_k), heads_of("k", keys, heads / group, d_k),
                                heads_of("v", keys, heads / group, d_v), options)
                     .output);
  for (int i = 0; i < kRuns; ++i) {
    Sizes s;
    Run& run = drawn.run(&s);
    const uint64_t seed = random.next();
    const auto values = [&](const char* name, int64_t length, int64_t count, int64_t width, uint64_t at) {
      const Array x =
          permute(run.input(name, uniform({s[0], length, count, width}, at, -1.5, 1.5)), {0, 2, 1, 3});
      const Array apart = reshape(x, {s[0], count, 1, length, width});
      return reshape(broadcast(apart, {s[0], count, heads / count, length, width}),
                     {s[0], heads, length, width});
    };
    const Array q = values("q", s[1], heads, d_k, seed), k = values("k", s[2], heads / group, d_k, seed + 1),
                v = values("v", s[2], heads / group, d_v, seed + 2);
    SoftmaxReference reference;
    reference.causal = causal;
    if (filled) reference.masked_fill = -1e4;
    Array padding, mask, bias;
    if (padded) {
      padding = run.input("padding", bytes({s[0], s[2]}, seed + 3), DType::U8);
      reference.key_padding = &padding;
      reference.key_padding_keeps = true;
    }
    if (masked) {
      mask = run.input("mask", bytes({s[1], s[2]}, seed + 4), DType::U8);
      reference.mask = &mask;
    }
    if (biased) {
      bias = run.input("bias", uniform({heads, 1, s[2]}, seed + 5));
      reference.bias = &bias;
    }
    const double scale = static_cast<double>(static_cast<float>(1.0 / std::sqrt(static_cast<double>(d_k))));
    const Array weights = t.stored(softmax(t.stored(matmul(q, transposed(k), scale)), reference));
    run.expect("y", matmul(weights, v), static_cast<double>(d_k + s[2]) * 4.0, 64);
  }
}

void build_rows(Trial& t, Random& random) {
  const int64_t op = random.below(4);
  const bool extra = random.coin();  // a bias of softmax, gamma, beta and residual of the norms
  const auto causal = static_cast<Causal>(random.below(3));
  Drawn drawn(t, random);
  const Dim rows = drawn.size("rows", 40, false),
            n = drawn.size("n", random.pick({40, 300, 1200}), random.coin());
  const Tensor x = t.input("x", {2, rows, n});
  const Tensor gamma = extra && op > 0 ? t.input("gamma", {n}) : Tensor{};
  const Tensor beta = extra && op == 1 ? t.input("beta", {n}) : Tensor{};
  const Tensor more = extra && op < 3 ? t.input("more", {2, rows, n}) : Tensor{};
  const auto summed = [&] { return more.valid() ? t.graph.add(x, more) : x; };
  if (op == 0) t.graph.output("y", t.graph.softmax(x, {.scale = 0.5f, .causal = causal, .bias = more}));
  if (op == 1) t.graph.output("y", t.graph.layernorm(summed(), gamma, beta, 1e-5f));
  if (op == 2) t.graph.output("y", t.graph.rmsnorm(summed(), gamma, 1e-5f));
  if (op == 3) t.graph.output("y", t.graph.l2_normalize(x));
  for (int i = 0; i < kRuns; ++i) {
    Sizes s;
    Run& run = drawn.run(&s);
    const uint64_t seed = random.next();
    const Sizes shape = {2, s[0], s[1]};
    Array v = run.input("x", uniform(shape, seed, -2.0, 3.0)), scale, shift, other;
    if (gamma.valid()) scale = run.input("gamma", uniform({s[1]}, seed + 1, 0.5, 1.5));
    if (beta.valid()) shift = run.input("beta", uniform({s[1]}, seed + 2));
    if (more.valid()) other = run.input("more", uniform(shape, seed + 3));
    SoftmaxReference reference;
    reference.scale = 0.5;
    reference.causal = causal;
    if (more.valid() && op == 0) reference.bias = &other;
    if (more.valid() && op > 0) v = add(v, other);
    const Array* const g = gamma.valid() ? &scale : nullptr;
    const Array* const b = beta.valid() ? &shift : nullptr;
    const auto terms = static_cast<double>(s[1]) + 64.0;
    if (op == 0) run.expect("y", softmax(v, reference), terms, 2);
    if (op == 1) run.expect("y", layernorm(v, g, b, static_cast<double>(1e-5f)), terms, 2);
    if (op == 2) run.expect("y", rmsnorm(v, g, static_cast<double>(1e-5f)), terms, 2);
    if (op == 3) run.expect("y", l2_normalize(v, static_cast<double>(1e-12f)), terms, 2);
  }
}

void build_elements(Trial& t, Random& random) {
  const int64_t op = random.below(4);
  t.options.training = true;
  Drawn drawn(t, random);
  const Dim m = drawn.size("m", 50, false), n = drawn.size("n", 300, random.coin());
  const Tensor x = t.input("x", {3, m, n}), y = t.input("y", op == 1 ? Shape{m, n} : Shape{3, m, n});
  Tensor z;
  if (op == 0) z = t.graph.activation(t.graph.add(x, y), Activation::GeluErf);
  if (op == 1) z = t.graph.mul(x, y);
  if (op == 2) z = t.graph.add(t.graph.dropout(x, 0.3f), y);
  if (op == 3) z = t.graph.concat({x, y}, 0);
  t.graph.output("z", z);
  for (int i = 0; i < kRuns; ++i) {
    Sizes s;
    Run& run = drawn.run(&s);
    const uint64_t seed = random.next();
    const Array vx = run.input("x", uniform({3, s[0], s[1]}, seed)),
                vy = run.input("y", uniform(op == 1 ? Sizes{s[0], s[1]} : Sizes{3, s[0], s[1]}, seed + 1));
    if (op == 0) run.expect("z", activation(add(vx, vy), Activation::GeluErf), 16.0, 2);
    if (op == 1) run.expect("z", mul(vx, vy), 16.0, 2);
    if (op == 2)
      run.expect("z", add(t.stored(dropout(vx, static_cast<double>(0.3f), run.options.seed, 0)), vy), 16.0,
                 2);
    if (op == 3) run.expect("z", concat({vx, vy}, 0), 16.0, 2);
  }
}

uint64_t first_seed() {
  const char* variable = std::getenv("HEED_RANDOM_SEED");
  return variable != nullptr ? std::strtoull(variable, nullptr, 10) : 20261121;
}

Operation random_operation(const char* name, int graphs, void (*build)(Trial&, Random&)) {
  Operation operation{name, {}};
  for (int i = 0; i < graphs; ++i) {
    const uint64_t seed = first_seed() + static_cast<uint64_t>(i) * 1000003u;
    operation.cases.push_back({"seed " + std::to_string(seed), [seed, build](Trial& t) {
                                 Random random(seed);
                                 build(t, random);
                               }});
  }
  return operation;
}

}  // namespace

TEST_CASE("random sizes on every kernel variant", "[ops][random]") {
  std::printf("random sizes, %d to a graph: first seed %llu\n", kRuns,
              static_cast<unsigned long long>(first_seed()));
  check(random_operation("matmul", 10, build_matmul), test_devices(Kernels::All));
  check(random_operation("attention", 8, build_attention), test_devices(Kernels::All));
  check(random_operation("rows", 16, build_rows), test_devices(Kernels::All));
  check(random_operation("elements", 8, build_elements), test_devices(Kernels::All));
}

}  // namespace heed::ops
