// Attention whose hidden keys have infinite or NaN values.

#include "cpu/support.hpp"

namespace heed::cpu_test {
namespace {

struct Sides {
  int64_t queries, keys, width;  // width of values
};
// Queries: one, fewer than a block, a block, several. Keys: one block and three. Widths: whole vectors and less.
const Sides kSides[] = {{1, 6, 16}, {3, 300, 70}, {8, 6, 5}, {40, 300, 64}, {70, 131, 33}};

const float kStrange[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::nanf("")};

// `mask` is [rows, keys], nonzero where a key is visible. With one row it may be passed as key padding.
std::vector<float> attend(Device& device, const Sides& s, const std::vector<float>& v, const std::vector<uint8_t>& mask,
                          bool as_padding) {
  const int64_t rows = static_cast<int64_t>(mask.size()) / s.keys;
  Graph g;
  const Tensor kept = g.input("mask", {rows, s.keys}, DType::U8);
  AttentionOptions options;
  if (as_padding)
    options.key_padding = keep(kept);
  else
    options.mask = keep(kept);
  g.output("y", g.attention(g.input("q", {1, 1, s.queries, 24}), g.input("k", {1, 1, s.keys, 24}),
                            g.input("v", {1, 1, s.keys, s.width}), options)
                    .output);
  Plan plan = test::compiled(device, g);
  const std::vector<float> q = floats({s.queries, 24}, 1), k = floats({s.keys, 24}, 2);
  std::vector<float> y(static_cast<size_t>(s.queries * s.width));
  REQUIRE(plan.run({{"q", q}, {"k", k}, {"v", v}, {"mask", mask}, {"y", y}}) == Status::Ok);
  return y;
}

void fill_row(std::vector<float>* rows, int64_t row, int64_t width, float value) {
  std::fill_n(rows->begin() + row * width, width, value);
}

// f(device, sides, an infinite or NaN value)
template <class F>
void on_all(const F& f) {
  const auto run = [&](Device& device, const char* set) {
    for (const Sides& sides : kSides)
      for (const float strange : kStrange) {
        INFO(set << ", " << sides.queries << " queries, " << sides.keys << " keys of " << sides.width << ", a value of "
                 << strange);
        f(device, sides, strange);
      }
  };
  on_every_set(run, 1);
}

}  // namespace

TEST_CASE("a query that sees no key gives zeros, whatever the values are", "[cpu]") {
  on_all([](Device& device, const Sides& sides, float strange) {
    std::vector<float> v = floats({sides.keys, sides.width}, 3);
    fill_row(&v, sides.keys / 2, sides.width, strange);
    for (const int64_t blind : {int64_t{0}, sides.queries - 1}) {
      std::vector<uint8_t> mask(static_cast<size_t>(sides.queries * sides.keys), 1);
      std::fill_n(mask.begin() + blind * sides.keys, sides.keys, uint8_t{0});
      const std::vector<float> y = attend(device, sides, v, mask, false);
      for (int64_t i = 0; i < sides.queries; ++i)
        for (int64_t j = 0; j < sides.width; ++j) {
          const float out = y[static_cast<size_t>(i * sides.width + j)];
          REQUIRE((i == blind ? out == 0.0f : !std::isfinite(out)));
        }
    }
  });
}

TEST_CASE("values of keys that are hidden from all queries count nothing, whatever they are", "[cpu]") {
  on_all([](Device& device, const Sides& sides, float strange) {
    // Hides the middle key, both ends, and every other key.
    std::vector<std::vector<int64_t>> hidden = {{sides.keys / 2}, {0, sides.keys - 1}, {}};
    for (int64_t i = 1; i < sides.keys; i += 2) hidden.back().push_back(i);
    for (const std::vector<int64_t>& keys : hidden) {
      std::vector<float> plain = floats({sides.keys, sides.width}, 3), v = plain;
      std::vector<uint8_t> mask(static_cast<size_t>(sides.keys), 1);
      for (const int64_t key : keys) {
        mask[static_cast<size_t>(key)] = 0;
        fill_row(&v, key, sides.width, strange);
      }
      for (const bool as_padding : {true, false})
        CHECK(attend(device, sides, v, mask, as_padding) == attend(device, sides, plain, mask, as_padding));
    }
  });
}

}  // namespace heed::cpu_test
