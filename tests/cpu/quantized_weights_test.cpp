// Quantized weights on the CPU: their layout, their memory, and sums that do not depend on the number of rows.
#include <bit>
#include <cstring>

#include "base/blocks.hpp"
#include "cpu/gemm/block_words.hpp"
#include "cpu/support.hpp"

namespace heed::cpu_test {
namespace {

constexpr DType kQuantized[] = {DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0,
                                DType::Q5_1, DType::Q4_K, DType::Q5_K, DType::Q6_K};

std::vector<std::byte> noise(uint64_t bytes, uint64_t seed) {
  const ops::Array x = ops::whole_numbers({static_cast<int64_t>(bytes)}, seed, 0, 256);
  std::vector<std::byte> result;
  for (const double v : x.value) result.push_back(static_cast<std::byte>(v));
  return result;
}

// Rows [n, k] of random blocks whose f16 numbers are 2^-10 or near it.
struct Matrix {
  DType type;
  int64_t n, k;
  std::vector<std::byte> bytes;
  int64_t shape[2];

  Matrix(DType t, int64_t rows, int64_t row, uint64_t seed)
      : type(t), n(rows), k(row), bytes(noise(bytes_of(t, static_cast<uint64_t>(rows * row)), seed)), shape{rows, row} {
    const auto block = static_cast<size_t>(block_of(t).bytes);
    for (size_t at = 0; at + block <= bytes.size(); at += block)
      for (const size_t half : {size_t{0}, size_t{2}})
        bytes[at + (type == DType::Q6_K ? 208 : half) + 1] = static_cast<std::byte>(0x14 + 0x80 * (at / block % 2));
  }
  HostTensor tensor() const { return {"w", type, shape, bytes}; }
  std::vector<float> values() const {
    std::vector<float> widened(static_cast<size_t>(n * k));
    widen_blocks(type, bytes.data(), n * k / block_of(type).elements, widened.data());
    return widened;
  }
};

}  // namespace

TEST_CASE("words of a block hold its bits, and give the block back", "[cpu][quantized]") {
  for (const DType type : kQuantized) {
    INFO(to_string(type));
    const auto size = static_cast<size_t>(block_of(type).bytes);
    int bytes = 0;
    for (const cpu::BlockRun& run : cpu::runs_of(type)) bytes += run.bytes * run.count;
    CHECK(static_cast<size_t>(bytes) == size);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<std::byte> file = noise(size, seed);
      std::vector<std::byte> words(size), back(size);
      cpu::to_words(type, file.data(), words.data());
      cpu::from_words(type, words.data(), back.data());
      CHECK(back == file);
    }
  }
}

TEST_CASE("eight neighbours share a word, the first in its lowest bits", "[cpu][quantized]") {
  // A block of type Q4_0 with q = i % 16 for element i.
  std::byte file[18] = {}, words[18];
  for (int i = 0; i < 16; ++i) file[2 + i] = static_cast<std::byte>(i | (i + 16) % 16 << 4);
  cpu::to_words(DType::Q4_0, file, words);
  for (int word = 0; word < 4; ++word) {
    uint32_t bits;
    std::memcpy(&bits, words + 2 + 4 * word, sizeof bits);
    CHECK(bits == (word % 2 == 0 ? 0x76543210u : 0xfedcba98u));
  }
}

TEST_CASE("quantized weights take the bytes of their file", "[cpu][quantized]") {
  on_every_set([](Device& device, const char* set) {
    for (const DType type : kQuantized) {
      INFO(set << ", " << to_string(type));
      const Matrix w(type, 96, 512, 1);
      const HostTensor tensor = w.tensor();
      Weights weights;
      REQUIRE(device.upload({&tensor, 1}, &weights) == Status::Ok);
      CHECK(weights.bytes() == w.bytes.size());
      CHECK(device.upload_bytes({&tensor, 1}) == w.bytes.size());

      Graph g;  // a table that is also the last layer's weight, and parts of it that begin at a panel
      const Tensor table = g.weight("w", {96, 512}, type);
      const Tensor rows = g.embedding(table, g.input("ids", {2}, DType::I32));
      g.output("y", g.linear(rows, table));
      g.output("part", g.matmul(rows, g.slice(table, 0, 64, 32), {.transpose_b = true}));
      Plan plan = test::compiled(device, g, weights);
      CHECK(weights.bytes() == w.bytes.size());
      CHECK(plan.weight_bytes() == w.bytes.size());

      Graph odd;  // a part that begins inside a panel is copied while a plan reads it
      odd.output("y", odd.matmul(odd.input("x", {1, 512}), odd.slice(odd.weight("w", {96, 512}, type), 0, 3, 32),
                                 {.transpose_b = true}));
      Plan copies = test::compiled(device, odd, weights), shares = test::compiled(device, odd, weights);
      CHECK(weights.bytes() == w.bytes.size() / 3 * 4);
      CHECK(copies.weight_bytes() == w.bytes.size() / 3);
      copies = shares = Plan();
      CHECK(weights.bytes() == w.bytes.size());
    }
  });
}

TEST_CASE("a row times a quantized weight has the same bits among any number of rows", "[cpu][quantized]") {
  constexpr int64_t kMost = 40, kN = 70;
  on_every_set([](Device& device, const char* set) {
    for (const DType type : kQuantized) {
      INFO(set << ", " << to_string(type));
      const int64_t k = 1024 + block_of(type).elements;
      const Matrix w(type, kN, k, 2);
      const HostTensor tensor = w.tensor();
      Weights weights;
      REQUIRE(device.upload({&tensor, 1}, &weights) == Status::Ok);
      Graph g;
      const Dim m = g.extent("m", kMost);
      g.output("y", g.linear(g.input("x", {m, k}), g.weight("w", {kN, k}, type)));
      Plan plan = test::compiled(device, g, weights);
      const std::vector<float> x = floats({kMost, k}, 3);
      const auto first_rows = [&](int64_t rows) {
        std::vector<float> y(static_cast<size_t>(rows * kN));
        const std::span<const float> part = std::span(x).first(static_cast<size_t>(rows * k));
        REQUIRE(plan.run({{"x", part}, {"y", y}}, {{"m", rows}}) == Status::Ok);
        return y;
      };
      const std::vector<float> all = first_rows(kMost);
      for (const int64_t rows : {1, 2, 3, 5, 6, 7, 8, 9, 12, 13, 24, 25}) {
        const std::vector<float> some = first_rows(rows);
        CHECK(std::memcmp(some.data(), all.data(), some.size() * sizeof(float)) == 0);
      }
    }
  });
}

TEST_CASE("what is wrong with a quantized tensor is told at upload or compile", "[cpu][quantized]") {
  test::Messages messages;
  Device device = test::open_cpu({.log = messages.log(), .threads = 1});
  const Matrix w(DType::Q4_1, 3, 64, 4);
  Weights weights;
  HostTensor tensor = w.tensor();
  tensor.data = tensor.data.first(tensor.data.size() - 1);
  CHECK(device.upload({&tensor, 1}, &weights) == Status::ShapeMismatch);
  CHECK(messages.mention("'w' q4_1 [3, 64] needs 120 bytes, 119 were given"));
  const int64_t cut[] = {4, 48};
  for (const std::span<const int64_t> shape : {std::span<const int64_t>(cut), std::span<const int64_t>()}) {
    messages.text.clear();
    tensor = w.tensor();
    tensor.shape = shape;
    CHECK(device.upload({&tensor, 1}, &weights) == Status::ShapeMismatch);
    CHECK(messages.mention("no whole blocks of 32"));
  }
  messages.text.clear();
  CHECK(device.upload({}, &weights, {.keep_dtype = false, .dtype = DType::Q8_0}) == Status::InvalidArgument);
  CHECK(messages.mention("not to q8_0"));

  tensor = w.tensor();
  REQUIRE(device.upload({&tensor, 1}, &weights) == Status::Ok);
  Graph g;
  g.output("y", g.linear(g.input("x", {1, 64}), g.weight("w", {3, 64}, DType::Q4_0)));
  Plan plan;
  CHECK(device.compile(g, weights, &plan) == Status::DTypeMismatch);
  CHECK(messages.mention("weight 'w' is q4_1 [3, 64]; the graph says q4_0 [3, 64]"));
}

}  // namespace heed::cpu_test
