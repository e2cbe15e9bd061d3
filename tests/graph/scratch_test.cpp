#include "harness/catch.hpp"

#include <random>

#include "graph/rewrite/rewrites.hpp"
#include "support.hpp"

using namespace heed;
using namespace heed::test;

TEST_CASE("scratch: lives that overlap never share memory, others do", "[graph]") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<detail::ScratchItem> items(1 + random() % 40);
    uint64_t sum = 0;
    for (auto& item : items) {
      item.bytes = 4 * (1 + random() % 1000);
      item.first = random() % 30;
      item.last = item.first + random() % 8;
      sum += (item.bytes + 255) / 256 * 256;
    }
    const uint64_t total = detail::place_scratch(&items, 256);
    CHECK(total <= sum);
    for (size_t i = 0; i < items.size(); ++i) {
      CHECK(items[i].offset % 256 == 0);
      CHECK(items[i].offset + items[i].bytes <= total);
      for (size_t j = 0; j < i; ++j) {
        const bool together = items[i].first <= items[j].last && items[j].first <= items[i].last;
        const bool overlap =
            items[i].offset < items[j].offset + items[j].bytes && items[j].offset < items[i].offset + items[i].bytes;
        CHECK_FALSE((together && overlap));
      }
    }
  }
}

TEST_CASE("scratch: a deep stack needs no more than a shallow one", "[graph]") {
  const auto scratch_of = [](int layers) {
    Graph g;
    Tensor x = g.input("x", {16, 32});
    for (int i = 0; i < layers; ++i) {
      const std::string n = std::to_string(i);
      const Tensor h = g.activation(g.linear(x, g.weight("a" + n, {128, 32})), Activation::Relu);
      x = g.add(g.linear(h, g.weight("b" + n, {32, 128})), x);
    }
    g.output("y", x);
    return schedule_of(g).schedule.scratch_bytes;
  };
  CHECK(scratch_of(2) > 0);
  CHECK(scratch_of(12) == scratch_of(3));
}
