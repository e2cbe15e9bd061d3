#include "cpu/matmul_tile.hpp"

#include <cmath>

#include "catch.hpp"
#include "cpu/memory.hpp"
#include "ops/reference.hpp"

namespace heed::cpu {

TEST_CASE("every register tile multiplies", "[cpu]") {
  CHECK(matmul_tiles().back().supported);
  CHECK(best_matmul_tile().supported);
  for (const MatmulTile& tile : matmul_tiles()) {
    if (!tile.supported) continue;
    for (const int64_t k : {1, 2, 3, 64, 257}) {
      INFO(tile.name << " k " << k);
      const ops::Array a = ops::uniform({tile.rows, k}, 1), b = ops::uniform({k, tile.cols}, 2);
      const int64_t pitch = tile.cols + 16;
      AlignedBuffer left, right, sums;
      REQUIRE((left.allocate(static_cast<uint64_t>(tile.rows * k) * 4) &&
               right.allocate(static_cast<uint64_t>(k * tile.cols) * 4) &&
               sums.allocate(static_cast<uint64_t>(tile.rows * pitch) * 4)));
      auto* l = reinterpret_cast<float*>(left.data());
      auto* r = reinterpret_cast<float*>(right.data());
      auto* c = reinterpret_cast<float*>(sums.data());
      for (int64_t p = 0; p < k; ++p)
        for (int64_t i = 0; i < tile.rows; ++i) l[p * tile.rows + i] = static_cast<float>(a.at(i * k + p));
      for (int64_t i = 0; i < b.size(); ++i) r[i] = static_cast<float>(b.at(i));
      for (int64_t i = 0; i < tile.rows * pitch; ++i) c[i] = 3.0f;
      tile.run(k, l, r, c, pitch);
      const ops::Array product = ops::matmul(a, b);
      double worst = 0.0;
      for (int64_t i = 0; i < tile.rows; ++i) {
        for (int64_t j = 0; j < tile.cols; ++j)
          worst = std::max(
              worst, std::abs(static_cast<double>(c[i * pitch + j]) - 3.0 - product.at(i * tile.cols + j)));
        for (int64_t j = tile.cols; j < pitch; ++j) CHECK(c[i * pitch + j] == 3.0f);
      }
      // Inputs were rounded to f32 as well: k + 3 roundings of terms below 1, and of the 3 that was there.
      CHECK(worst < static_cast<double>(k + 3) * 0x1p-24 * (3.0 + static_cast<double>(k)));
    }
  }
}

}  // namespace heed::cpu
