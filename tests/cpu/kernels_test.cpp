// The vector code of every instruction set that this processor has.
#include "cpu/kernels.hpp"

#include <cmath>

#include "base/half.hpp"
#include "catch.hpp"
#include "cpu/matmul_kernels.hpp"
#include "ops/reference.hpp"

namespace heed::cpu {
namespace {

// Values of `x` as they are in panels of `type`, rounded in x as well.
std::vector<std::byte> panels(ops::Array* x, DType type) {
  const auto count = static_cast<size_t>(x->size());
  std::vector<float> floats(x->value.begin(), x->value.end());
  std::vector<std::byte> stored(count * size_of(type));
  convert_floats(floats.data(), DType::F32, stored.data(), type, count);
  convert_floats(stored.data(), type, floats.data(), DType::F32, count);
  for (size_t i = 0; i < count; ++i) x->value[i] = static_cast<double>(floats[i]);
  return stored;
}

struct TileCase {
  int64_t rows, k;
  DType type;
  bool transposed, add;
};

void check_tile(const MatmulKernels& kernels, const TileCase& c) {
  const int64_t cols = kernels.cols, pitch = cols + 3;
  ops::Array a = ops::uniform({c.rows, c.k}, 1), b = ops::uniform({c.k, cols}, 2);
  const std::vector<std::byte> panel = panels(&b, c.type);
  panels(&a, DType::F32);
  std::vector<float> left(static_cast<size_t>(c.rows * c.k)), sums(static_cast<size_t>(c.rows * pitch), 3.0f);
  const int64_t a_row = c.transposed ? 1 : c.k, a_k = c.transposed ? c.rows : 1;
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t p = 0; p < c.k; ++p)
      left[static_cast<size_t>(i * a_row + p * a_k)] = static_cast<float>(a.at(i * c.k + p));
  kernels.of(c.type).tile[c.rows - 1](c.k, left.data(), a_row, a_k, panel.data(), sums.data(), pitch, c.add);
  const ops::Array product = ops::matmul(a, b);
  double worst = 0.0;
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < pitch; ++j) {
      const double expected = j >= cols ? 3.0 : product.at(i * cols + j) + (c.add ? 3.0 : 0.0);
      worst = std::max(worst, std::abs(static_cast<double>(sums[static_cast<size_t>(i * pitch + j)]) - expected));
    }
  // k roundings of partial sums below k, and one of the sum with 3.
  CHECK(worst < static_cast<double>(c.k + 1) * 0x1p-24 * (3.0 + static_cast<double>(c.k)));
}

}  // namespace

TEST_CASE("every register tile of every instruction set multiplies", "[cpu]") {
  for (const Kernels& kernels : supported_kernels()) {
    const MatmulKernels& matmul = *kernels.matmul;
    CHECK(matmul.cols >= 2);
    for (int64_t rows = 1; rows <= matmul.rows; ++rows)
      for (const int64_t k : {1, 2, 3, 64, 257})
        for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
          INFO(kernels.name << ", " << rows << " rows, k " << k << ", " << to_string(type));
          check_tile(matmul, {rows, k, type, false, false});
          check_tile(matmul, {rows, k, type, true, true});
        }
  }
}

TEST_CASE("a thin tile gives the same bits as four tiles of one row", "[cpu]") {
  for (const Kernels& kernels : supported_kernels()) {
    const MatmulKernels& matmul = *kernels.matmul;
    constexpr int64_t k = 77, kPanels = MatmulKernels::kThinPanels;
    for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
      INFO(kernels.name << ", " << to_string(type));
      ops::Array b = ops::uniform({kPanels * k, matmul.cols}, 3);
      const std::vector<std::byte> packed = panels(&b, type);
      const ops::Array values = ops::uniform({k}, 4);
      const std::vector<float> a(values.value.begin(), values.value.end());
      const auto size = static_cast<size_t>(kPanels * matmul.cols);
      std::vector<float> thin(size, 1.0f), single(size, 1.0f);
      for (const bool add : {true, false}) {
        matmul.of(type).thin(k, a.data(), 1, packed.data(), k * matmul.cols, thin.data(), add);
        for (int64_t p = 0; p < kPanels; ++p)
          matmul.of(type).tile[0](k, a.data(), 0, 1,
                                  packed.data() + static_cast<size_t>(p * k * matmul.cols) * size_of(type),
                                  single.data() + p * matmul.cols, matmul.cols, add);
        CHECK(thin == single);
      }
    }
  }
}

}  // namespace heed::cpu
