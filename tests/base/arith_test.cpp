#include "base/arith.hpp"

#include "harness/catch.hpp"

using namespace heed;

TEST_CASE("quotients that round up", "[base]") {
  CHECK(ceil_div(0, 7) == 0);
  CHECK(ceil_div(7, 7) == 1);
  CHECK(ceil_div(8, 7) == 2);
  CHECK(ceil_div(INT64_MAX, int64_t{1}) == INT64_MAX);
  CHECK(ceil_div(INT64_MAX - 1, INT64_MAX) == 1);
  CHECK(ceil_div(UINT32_MAX, 2u) == 1u << 31);
  CHECK(ceil_div(UINT32_MAX, UINT32_MAX) == 1);
}

TEST_CASE("checked products and sums", "[base]") {
  constexpr int64_t kMost = INT64_MAX, kHalf = int64_t{1} << 32;
  struct Row {
    int64_t a, b;
    bool product_fits, sum_fits;
  };
  const Row rows[] = {{0, 0, true, true},
                      {0, kMost, true, true},
                      {1, kMost - 1, true, true},
                      {1, kMost, true, false},
                      {2, kMost / 2, true, true},
                      {2, kMost / 2 + 1, false, true},
                      {kHalf / 2 - 1, kHalf / 2 - 1, true, true},
                      {kHalf / 2, kHalf - 1, true, true},
                      {kHalf / 2, kHalf, false, true},
                      {3037000499, 3037000499, true, true},  // the largest number whose square fits
                      {3037000500, 3037000500, false, true},
                      {kMost / 2, kMost / 2, false, true},
                      {kMost / 2 + 1, kMost / 2 + 1, false, false},
                      {kMost, kMost, false, false}};
  for (const Row& row : rows)
    for (const bool swapped : {false, true}) {
      const int64_t a = swapped ? row.b : row.a, b = swapped ? row.a : row.b;
      INFO(a << " and " << b);
      int64_t product = -1, sum = -1;
      CHECK(checked_mul(a, b, &product) == row.product_fits);
      CHECK(product == (row.product_fits ? a * b : kMost));
      CHECK(checked_add(a, b, &sum) == row.sum_fits);
      CHECK(sum == (row.sum_fits ? a + b : kMost));
    }
}
