// Positions that a run sets: begins of slices, the number of valid rows in a cache, the last row of an extent.
#include "harness/setup.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

constexpr int64_t kCapacity = 24;

Case slices_case() {
  return {"rows at a position", [](Trial& t) {
            const Dim at = t.graph.position("at", 19), rows = t.graph.extent("rows", 8);
            const Tensor x = t.input("x", {3, 20, 12});
            t.graph.output("y", t.graph.scale(t.graph.slice(x, 1, at, rows), 2.0f));
            t.graph.output("one", t.graph.cast(t.graph.slice(x, 1, at, 1), DType::F32));
            const Sizes shape = {3, 20, 12};
            for (const auto& e : {std::array<int64_t, 2>{0, 1}, {0, 8}, {5, 8}, {12, 8}, {19, 1}}) {
              Run& run = t.run({{"at", e[0]}, {"rows", e[1]}});
              const Array v = run.input("x", uniform(shape, 151));
              run.expect("y", scale(slice(v, 1, e[0], e[1]), 2.0));
              run.expect_exact("one", slice(v, 1, e[0], 1), DType::F32);
            }
            Run& first = t.run({{"rows", 3}});  // a position that is not set is 0
            const Array v = first.input("x", uniform(shape, 152));
            first.expect("y", scale(slice(v, 1, 0, 3), 2.0));
            first.expect_exact("one", slice(v, 1, 0, 1), DType::F32);
          }};
}

Case last_case() {
  return {"the last row", [](Trial& t) {
            const Dim rows = t.graph.extent("rows", 9);
            const Tensor x = t.input("x", {2, rows, 5});
            t.graph.output("y", t.graph.scale(t.graph.last(x, 1), 0.5f));
            t.graph.output("z", t.graph.matmul(t.graph.last(t.graph.transpose(x, 1, 2), -1), t.input("w", {1, 3})));
            for (const int64_t n : {1, 2, 9}) {
              Run& run = t.run({{"rows", n}});
              const Array v = run.input("x", uniform({2, n, 5}, 153)), w = run.input("w", uniform({1, 3}, 154));
              const Array last = slice(v, 1, n - 1, 1);
              run.expect("y", scale(last, 0.5));
              run.expect("z", matmul(transposed(last), w));
            }
          }};
}

// Queries at a position see all keys of a cache up to themselves, and the cache has spare room. The same plan reads a whole prompt and one
// token.
Case cache_case(int64_t key_heads, int64_t width) {
  return {"attention over a cache, heads of " + std::to_string(width) + ", " + std::to_string(key_heads) + " of keys",
          [=](Trial& t) {
            const Dim past = t.graph.position("past", kCapacity - 1), tokens = t.graph.extent("tokens", kCapacity);
            const Dim keys = t.graph.sum(past, tokens, kCapacity);
            const Tensor q = t.input("q", {1, 4, tokens, width});
            const Tensor k = t.input("k", {1, key_heads, kCapacity, width}),
                         v = t.input("v", {1, key_heads, kCapacity, width});
            AttentionOptions options;
            options.causal = Causal::BottomRight;
            const AttentionResult attention =
                t.graph.attention(t.graph.rotary(q, {.first = past}), t.graph.slice(k, 2, 0, keys),
                                  t.graph.slice(v, 2, 0, keys), options);
            t.graph.output("y", attention.output);
            for (const auto& e : {std::array<int64_t, 2>{0, 1}, {0, kCapacity}, {7, 1}, {7, 5}, {kCapacity - 1, 1}}) {
              Run& run = t.run({{"past", e[0]}, {"tokens", e[1]}});
              const Sizes cache = {1, key_heads, kCapacity, width};
              const Array vq = run.input("q", uniform({1, 4, e[1], width}, 155)),
                          vk = run.input("k", uniform(cache, 156)), vv = run.input("v", uniform(cache, 157));
              Array positions({e[1]});
              for (int64_t i = 0; i < e[1]; ++i) positions.at(i) = static_cast<double>(e[0] + i);
              const auto shared = [&](const Array& x) {  // a key head for each query head
                std::vector<Array> heads;
                for (int64_t h = 0; h < 4; ++h) heads.push_back(slice(x, 1, h * key_heads / 4, 1));
                return slice(concat(heads, 1), 2, 0, e[0] + e[1]);
              };
              SoftmaxReference reference;
              reference.causal = Causal::BottomRight;
              const Array turned = t.stored(rotary(vq, {}, &positions));
              const Array scores = matmul(turned, transposed(shared(vk)), 1.0 / std::sqrt(static_cast<double>(width)));
              run.expect("y", matmul(softmax(scores, reference), shared(vv)), 256.0, 3);
            }
          }};
}

}  // namespace

TEST_CASE("positions on every device", "[ops]") {
  check({"positions", {slices_case(), last_case(), cache_case(4, 16), cache_case(2, 64), cache_case(1, 40)}});
}

TEST_CASE("positions: runs that do not fit are refused before anything is written") {
  test::Messages messages;
  Graph g;
  const Dim at = g.position("at", 19), rows = g.extent("rows", 8);
  g.output("y", g.scale(g.slice(g.input("cache", {20, 3}), 0, at, rows), 2.0f));
  Plan plan = test::compiled(test::open_cpu({.log = messages.log()}), g);
  std::vector<float> cache(60, 1.0f), y(24, -1.0f);
  CHECK(plan.run({{"cache", cache}, {"y", y}}, {{"at", 13}, {"rows", 8}}) == Status::ExtentOutOfRange);
  CHECK_THAT(messages.text, holds("end at 21; there are 20"));
  CHECK_THAT(messages.text, holds("'cache'"));
  CHECK(plan.run({{"cache", cache}, {"y", y}}, {{"at", 20}, {"rows", 1}}) == Status::ExtentOutOfRange);
  CHECK_THAT(messages.text, holds("0 to 19"));
  CHECK(plan.run({{"cache", cache}, {"y", y}}, {{"at", -1}, {"rows", 1}}) == Status::ExtentOutOfRange);
  CHECK(plan.run({{"cache", cache}, {"y", y}}, {{"at", 0}, {"at", 0}}) == Status::InvalidArgument);
  CHECK(y == std::vector<float>(24, -1.0f));
  CHECK(plan.run({{"cache", cache}, {"y", y}}, {{"at", 12}, {"rows", 8}}) == Status::Ok);
}

TEST_CASE("positions: mistakes are named") {
  const auto error = [](auto&& build) {
    Graph g;
    build(g);
    return std::string(g.error());
  };
  const auto says = [&](const char* text, auto&& build) { return error(build).find(text) != std::string::npos; };
  CHECK(says("which may be 0", [](Graph& g) { (void)g.input("x", {g.position("p", 3)}); }));
  CHECK(says("maximum 0", [](Graph& g) { (void)g.position("p", 0); }));
  CHECK(says("declared from 0", [](Graph& g) { (void)g.position("p", 3), (void)g.extent("p", 3); }));
  CHECK(says("at most 2", [](Graph& g) { (void)g.sum(g.extent("n", 4), 2, 2); }));
  CHECK(says("negative", [](Graph& g) { (void)g.sum(g.extent("n", 4), -2, 9); }));
  CHECK(says("not within it", [](Graph& g) { (void)g.slice(g.input("x", {7}), 0, -1, 2); }));
  CHECK(says("begins at -1", [](Graph& g) { (void)g.append(g.state("s", {7}), g.input("x", {2}), 0, -1); }));
  CHECK(says("not within it", [](Graph& g) { (void)g.slice(g.input("x", {7}), 0, g.position("p", 5), 8); }));
  CHECK(says("not within it", [](Graph& g) { (void)g.slice(g.input("x", {g.extent("n", 7)}), 0, 1, 2); }));
  CHECK(says("another graph", [](Graph& g) {
    Graph other;
    (void)g.slice(g.input("x", {7}), 0, other.position("p", 5), 1);
  }));
  CHECK(error([](Graph& g) { (void)g.input("x", {g.sum(g.position("p", 3), 1, 4)}); }).empty());
}

}  // namespace heed::ops
