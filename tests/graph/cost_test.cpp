// The bytes that passes move through memory, and the fewest possible.
#include "graph/support.hpp"
#include "harness/catch.hpp"

namespace heed::test {
namespace {

struct Bytes {
  double moved = 0, fewest = 0;
};

// The bytes of each pass, at the extents' maxima.
std::vector<Bytes> bytes_of(const Graph& graph) {
  const Scheduled scheduled = schedule_of(graph);
  INFO(scheduled.messages);
  REQUIRE(scheduled.status == Status::Ok);
  const RunValues maxima = {.sizes = scheduled.schedule.max_values};
  const std::vector<double> fewest = fewest_bytes(scheduled.schedule, maxima);
  REQUIRE(fewest.size() == scheduled.schedule.passes.size());
  std::vector<Bytes> passes;
  for (const Node& node : scheduled.schedule.passes)
    passes.push_back({cost_of(scheduled.schedule, node, maxima).bytes, fewest[passes.size()]});
  return passes;
}

TEST_CASE("what passes leave for each other is not among the fewest bytes") {
  Graph g;
  const Tensor x = g.input("x", {4, 8});
  g.output("y", g.softmax(g.linear(x, g.weight("w", {16, 8}))));
  const std::vector<Bytes> passes = bytes_of(g);
  REQUIRE(passes.size() == 2);
  CHECK(passes[0].moved == 4.0 * (4 * 8 + 16 * 8 + 4 * 16));
  CHECK(passes[0].fewest == 4.0 * (4 * 8 + 16 * 8));
  CHECK(passes[1].moved == 4.0 * 2 * 4 * 16);
  CHECK(passes[1].fewest == 4.0 * 4 * 16);
}

TEST_CASE("inputs and weights count where they are read first, however often and in whatever parts") {
  Graph g;
  const Tensor x = g.input("x", {4, 8});
  const Tensor w = g.weight("w", {3, 8, 8});
  g.output("a", g.matmul(x, g.select(w, 0, 0)));
  g.output("b", g.matmul(x, g.select(w, 0, 2)));
  g.output("c", g.matmul(x, g.select(w, 0, 2)));
  double fewest = 0;
  const std::vector<Bytes> passes = bytes_of(g);
  for (const Bytes& pass : passes) fewest += pass.fewest;
  // The matmuls read two of the weight's three matrices, one of them twice. Three reads are no more than the whole weight, so that all of
  // them may count.
  CHECK(passes[0].fewest == 4.0 * (4 * 8 + 8 * 8 + 4 * 8));
  CHECK(passes[1].fewest == 4.0 * (8 * 8 + 4 * 8));
  CHECK(fewest <= 4.0 * (4 * 8 + 3 * 8 * 8 + 3 * 4 * 8));
}

TEST_CASE("a gather's fewest bytes are the rows that it names") {
  Graph g;
  g.output("y", g.embedding(g.weight("table", {1000, 8}), g.input("ids", {5}, DType::I32)));
  const std::vector<Bytes> passes = bytes_of(g);
  REQUIRE(passes.size() == 1);
  CHECK(passes[0].moved == 4.0 * (5 + 2 * 5 * 8));
  CHECK(passes[0].fewest == passes[0].moved);
}

}  // namespace
}  // namespace heed::test
