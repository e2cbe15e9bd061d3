// Weights stored as f16 or bf16 with activations of f32.

#include "base/half.hpp"
#include "cpu/support.hpp"

namespace heed::cpu_test {
namespace {

struct Layer {
  int64_t m, n, k;
  bool transpose;  // weight [n, k], as of a linear layer
};

// Rows around register tiles, columns around panels, odd k, more than one block of k.
const Layer kLayers[] = {{1, 33, 70, true},
                         {1, 130, 769, true},
                         {1, 300, 1, true},
                         {2, 32, 64, true},
                         {5, 31, 61, false},
                         {12, 160, 96, true},
                         {13, 161, 1537, true},
                         {29, 7, 3, false},
                         {193, 400, 300, true},
                         {250, 300, 769, true},  // panels widened once, in two blocks of k, the last one odd
                         // Rows that collide in the cache and are packed first, once and in two bands.
                         {26, 40, 1024, true},
                         {4100, 3, 1024, true}};

std::vector<float> stored(std::vector<float> values, DType type) {
  for (float& v : values)
    v = type == DType::F16 ? half_to_float(float_to_half(v)) : bfloat_to_float(float_to_bfloat(v));
  return values;
}

// The graph y = x w + bias, with w as `type`.
Graph layer_graph(const Layer& layer, DType type) {
  Graph g;
  const Tensor x = g.input("x", {layer.m, layer.k});
  const Tensor w = layer.transpose ? g.weight("w", {layer.n, layer.k}, type) : g.weight("w", {layer.k, layer.n}, type);
  g.output("y", g.add(g.matmul(x, w, {.transpose_b = layer.transpose}), g.weight("b", {layer.n})));
  return g;
}

Status upload(Device& device, const Layer& layer, const std::vector<float>& w, const std::vector<float>& b, DType type,
              Weights* weights) {
  const int64_t shape[] = {layer.transpose ? layer.n : layer.k, layer.transpose ? layer.k : layer.n}, row[] = {layer.n};
  const HostTensor tensors[] = {{"w", DType::F32, shape, std::as_bytes(std::span(w))},
                                {"b", DType::F32, row, std::as_bytes(std::span(b))}};
  return device.upload(tensors, weights, {.keep_dtype = false, .dtype = type, .only_matrices = true});
}

ops::Array array(const ops::Sizes& shape, const std::vector<float>& values) {
  return ops::values(shape, {values.begin(), values.end()});
}

// Largest error of y relative to its bound, which includes the rounding of x if x is rounded to bf16.
double worst_error(const Layer& layer, const std::vector<float>& x, const std::vector<float>& w,
                   const std::vector<float>& b, const std::vector<float>& y, bool rounds_x) {
  ops::Array a = array({layer.m, layer.k}, x);
  if (rounds_x) a = ops::stored(DType::BF16, a);
  const ops::Array matrix =
      layer.transpose ? ops::transposed(array({layer.n, layer.k}, w)) : array({layer.k, layer.n}, w);
  const ops::Array expected = ops::add(ops::matmul(a, matrix), array({layer.n}, b));
  double worst = 0.0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(static_cast<double>(y[static_cast<size_t>(i)]) - expected.at(i));
    if (!(error <= 1e30)) return error;  // NaN
    worst = std::max(worst, error / expected.err(i));
  }
  return worst;
}

}  // namespace

TEST_CASE("weights of f16 and bf16 beside f32, on every instruction set", "[cpu]") {
  on_every_set([&](Device& device, const char* set) {
    for (const Layer& layer : kLayers)
      for (const DType type : {DType::F16, DType::BF16}) {
        INFO(set << ", " << to_string(type) << ", " << layer.m << " x " << layer.n << " x " << layer.k);
        const std::vector<float> x = floats({layer.m, layer.k}, 1), b = floats({layer.n}, 2);
        const std::vector<float> w = floats({layer.k, layer.n}, 3);
        Weights weights;
        REQUIRE(upload(device, layer, w, b, type, &weights) == Status::Ok);
        CHECK(weights.bytes() < static_cast<uint64_t>(2 * layer.n * layer.k + 4 * layer.n + 256));
        Plan plan = test::compiled(device, layer_graph(layer, type), weights);
        REQUIRE(plan.passes().size() == 1);
        const std::string why = plan.passes()[0].why;
        const bool rounds_x = why.find("rounded to bf16") != std::string::npos;
        CHECK(rounds_x == (type == DType::BF16 && std::string(set) == "avx512bf16"));
        std::vector<float> y(static_cast<size_t>(layer.m * layer.n)), again = y;
        REQUIRE(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
        REQUIRE(plan.run({{"x", x}, {"y", again}}) == Status::Ok);
        CHECK(y == again);
        const double worst = worst_error(layer, x, stored(w, type), b, y, rounds_x);
        CHECK(worst <= 1.0);
        // A row's result does not depend on how many rows there are.
        const Layer single = {1, layer.n, layer.k, layer.transpose};
        std::vector<float> last(static_cast<size_t>(layer.n));
        Plan one = test::compiled(device, layer_graph(single, type), weights);
        REQUIRE(one.run({{"x", std::span(x).subspan(static_cast<size_t>((layer.m - 1) * layer.k))}, {"y", last}}) ==
                Status::Ok);
        CHECK(std::equal(last.begin(), last.end(), y.end() - static_cast<ptrdiff_t>(layer.n)));
      }
  });
}

TEST_CASE("weights that are infinite or NaN stay so, on every instruction set", "[cpu]") {
  constexpr uint16_t kHalves[] = {0x7c00, 0xfc00, 0x7e00, 0xfdff, 0x7bff, 0xfbff, 0x0001, 0x8001};
  for (const cpu::Kernels& kernels : cpu::supported_kernels()) {
    Device device = test::open_cpu({.threads = 1, .cpu_instructions = kernels.name});
    for (const int64_t rows : {1, 3, 40})
      for (const int64_t cols : {8, 72}) {
        INFO(kernels.name << ", " << rows << " rows, " << cols << " columns");
        std::vector<uint16_t> w(static_cast<size_t>(cols));
        for (size_t i = 0; i < w.size(); ++i) w[i] = kHalves[i % std::size(kHalves)];
        const int64_t shape[] = {1, cols};
        const HostTensor tensor = {"w", DType::F16, shape, std::as_bytes(std::span(w))};
        Weights weights = test::uploaded(device, {&tensor, 1});
        Graph g;
        g.output("y", g.matmul(g.input("x", {rows, 1}), g.weight("w", {1, cols}, DType::F16)));
        Plan plan = test::compiled(device, g, weights);
        const std::vector<float> x(static_cast<size_t>(rows), 1.0f);
        std::vector<float> y(x.size() * w.size());
        REQUIRE(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
        size_t wrong = 0;
        for (size_t i = 0; i < y.size(); ++i) {
          const float expected = half_to_float(w[i % w.size()]);
          wrong += !(y[i] == expected || (std::isnan(y[i]) && std::isnan(expected)));
        }
        CHECK(wrong == 0);
      }
  }
}

TEST_CASE("a b of bf16 that changes from run to run", "[cpu]") {
  Graph g;
  g.output("y", g.matmul(g.input("x", {3, 5}), g.input("w", {5, 4}, DType::BF16)));
  Plan plan = test::compiled(test::open_cpu(), g);
  const std::vector<float> x = floats({3, 5}, 1), w = stored(floats({5, 4}, 2), DType::BF16);
  std::vector<uint16_t> bits;
  for (const float v : w) bits.push_back(float_to_bfloat(v));
  std::vector<float> y(12);
  REQUIRE(plan.run({{"x", x}, {"w", std::as_bytes(std::span(bits))}, {"y", y}}) == Status::Ok);
  CHECK(worst_error({3, 4, 5, false}, x, w, std::vector<float>(4), y, false) <= 1.0);
}

// The values are small integers, which every type represents exactly, as it does their sums.
TEST_CASE("a product of f16 and bf16, either by the other, on every instruction set", "[cpu]") {
  constexpr int64_t kM = 3, kN = 21, kK = 19;
  const auto number = [](int64_t i) { return static_cast<float>(i * 5 % 7 - 3); };
  const auto encode = [&](DType type, int64_t count) {
    std::vector<uint16_t> bits;
    for (int64_t i = 0; i < count; ++i)
      bits.push_back(type == DType::F16 ? float_to_half(number(i)) : float_to_bfloat(number(i)));
    return bits;
  };
  on_every_set([&](Device& device, const char* set) {
    for (const DType type : {DType::F16, DType::BF16}) {
      const DType other = type == DType::F16 ? DType::BF16 : DType::F16;
      INFO(set << ", " << to_string(type) << " by " << to_string(other));
      Graph g;
      g.output("y", g.matmul(g.input("a", {kM, kK}, type), g.input("b", {kK, kN}, other)));
      Plan plan = test::compiled(device, g);
      const std::vector<uint16_t> a = encode(type, kM * kK), b = encode(other, kK * kN);
      std::vector<uint16_t> y(kM * kN);
      REQUIRE(plan.run({{"a", a}, {"b", b}, {"y", y}}) == Status::Ok);
      for (int64_t i = 0; i < kM * kN; ++i) {
        float sum = 0;
        for (int64_t k = 0; k < kK; ++k) sum += number(i / kN * kK + k) * number(k * kN + i % kN);
        const uint16_t bits = y[static_cast<size_t>(i)];
        CHECK((type == DType::F16 ? half_to_float(bits) : bfloat_to_float(bits)) == sum);
      }
    }
  });
}

TEST_CASE("tables of f16 and bf16 give rows of f32, on every instruction set", "[cpu]") {
  constexpr int64_t kRows = 9, kWidth = 37;  // no whole vectors
  const int32_t ids[] = {8, 0, 3, 3};
  on_every_set([&](Device& device, const char* set) {
    for (const DType type : {DType::F16, DType::BF16}) {
      INFO(set << ", " << to_string(type));
      Graph g;
      const Tensor table = g.weight("table", {kRows, kWidth}, type);
      const Tensor rows = g.embedding(table, g.input("ids", {4}, DType::I32), DType::F32);
      g.output("rows", rows);
      // A slice that starts at an odd element, read by a cast and arithmetic.
      const Tensor part = g.slice(g.slice(table, 0, 2, 4), 1, 3, 31);
      g.output("sum", g.add(g.cast(part, DType::F32), g.slice(rows, 1, 3, 31)));
      const std::vector<float> w = floats({kRows, kWidth}, 5);
      const int64_t shape[] = {kRows, kWidth};
      const HostTensor tensors[] = {{"table", DType::F32, shape, std::as_bytes(std::span(w))}};
      Weights weights = test::uploaded(device, tensors, {.keep_dtype = false, .dtype = type});
      Plan plan = test::compiled(device, g, weights);
      std::vector<float> got(4 * kWidth), sum(4 * 31);
      REQUIRE(plan.run({{"ids", ids}, {"rows", got}, {"sum", sum}}) == Status::Ok);
      const std::vector<float> values = stored(w, type);
      const auto at = [&](int64_t row, int64_t column) { return values[static_cast<size_t>(row * kWidth + column)]; };
      for (int64_t r = 0; r < 4; ++r) {
        for (int64_t c = 0; c < kWidth; ++c) CHECK(got[static_cast<size_t>(r * kWidth + c)] == at(ids[r], c));
        for (int64_t c = 0; c < 31; ++c)
          CHECK(sum[static_cast<size_t>(r * 31 + c)] == at(2 + r, 3 + c) + at(ids[r], 3 + c));
      }
    }
  });
}

TEST_CASE("types that do not multiply are refused", "[cpu]") {
  const DType pairs[][2] = {{DType::F16, DType::F32},
                            {DType::BF16, DType::F32},
                            {DType::U8, DType::BF16},
                            {DType::BF16, DType::I32},
                            {DType::F32, DType::I32}};
  for (const auto& pair : pairs) {
    Graph g;
    g.output("y", g.matmul(g.input("a", {2, 3}, pair[0]), g.input("b", {3, 2}, pair[1])));
    INFO(g.error());
    CHECK(g.status() == Status::DTypeMismatch);
    CHECK_THAT(std::string(g.error()), holds(to_string(pair[1])));
  }
}

TEST_CASE("tables and results of other types are refused", "[cpu]") {
  struct Case {
    DType table, result;
  };
  for (const Case& c : {Case{DType::I32, DType::F32}, {DType::BF16, DType::U8}, {DType::F32, DType::I32}}) {
    Graph g;
    g.output("y", g.embedding(g.input("t", {3, 2}, c.table), g.input("ids", {2}, DType::I32), c.result));
    INFO(g.error());
    CHECK(g.status() == Status::DTypeMismatch);
  }
  Graph g;
  CHECK(g.dtype(g.embedding(g.input("t", {3, 2}, DType::BF16), g.input("ids", {2}, DType::I32))) == DType::F32);
  CHECK(g.dtype(g.cast(g.input("x", {3}, DType::BF16), DType::F16)) == DType::F16);
  CHECK(g.status() == Status::Ok);
  CHECK(g.dtype(g.scale(g.input("w", {3}, DType::BF16), 2.0f)) == DType::BF16);
  CHECK(g.status() == Status::Ok);
  CHECK_FALSE(g.scale(g.input("z", {3}, DType::I32), 2.0f).valid());
  CHECK(g.status() == Status::DTypeMismatch);
}

}  // namespace heed::cpu_test
