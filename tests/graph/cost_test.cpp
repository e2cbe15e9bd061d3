// What steps move through memory, and the fewest bytes possible.
#include "catch.hpp"
#include "graph/support.hpp"

namespace heed::test {
namespace {

struct Bytes {
  double moved = 0, fewest = 0;
};

// Of each step, at the extents' maxima.
std::vector<Bytes> bytes_of(const Graph& graph) {
  const Scheduled scheduled = schedule_of(graph);
  INFO(scheduled.messages);
  REQUIRE(scheduled.status == Status::Ok);
  const RunValues maxima = {.sizes = scheduled.schedule.max_values};
  const std::vector<double> fewest = fewest_bytes(scheduled.schedule, maxima);
  REQUIRE(fewest.size() == scheduled.schedule.steps.size());
  std::vector<Bytes> steps;
  for (const Node& node : scheduled.schedule.steps)
    steps.push_back({cost_of(scheduled.schedule, node, maxima).bytes, fewest[steps.size()]});
  return steps;
}

TEST_CASE("what steps leave for each other is not among the fewest bytes") {
  Graph g;
  const Tensor x = g.input("x", {4, 8});
  g.output("y", g.softmax(g.linear(x, g.weight("w", {16, 8}))));
  const std::vector<Bytes> steps = bytes_of(g);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].moved == 4.0 * (4 * 8 + 16 * 8 + 4 * 16));
  CHECK(steps[0].fewest == 4.0 * (4 * 8 + 16 * 8));
  CHECK(steps[1].moved == 4.0 * 2 * 4 * 16);
  CHECK(steps[1].fewest == 4.0 * 4 * 16);
}

TEST_CASE("inputs and weights count where they are read first, however often and in whatever parts") {
  Graph g;
  const Tensor x = g.input("x", {4, 8});
  const Tensor w = g.weight("w", {3, 8, 8});
  g.output("a", g.matmul(x, g.select(w, 0, 0)));
  g.output("b", g.matmul(x, g.select(w, 0, 2)));
  g.output("c", g.matmul(x, g.select(w, 0, 2)));
  double fewest = 0;
  const std::vector<Bytes> steps = bytes_of(g);
  for (const Bytes& step : steps) fewest += step.fewest;
  // Of the weight two parts are read, and of those that are read twice one may count as the third.
  CHECK(steps[0].fewest == 4.0 * (4 * 8 + 8 * 8 + 4 * 8));
  CHECK(steps[1].fewest == 4.0 * (8 * 8 + 4 * 8));
  CHECK(fewest <= 4.0 * (4 * 8 + 3 * 8 * 8 + 3 * 4 * 8));
}

TEST_CASE("a gather's fewest bytes are the rows that it names") {
  Graph g;
  g.output("y", g.embedding(g.weight("table", {1000, 8}), g.input("ids", {5}, DType::I32)));
  const std::vector<Bytes> steps = bytes_of(g);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].moved == 4.0 * (5 + 2 * 5 * 8));
  CHECK(steps[0].fewest == steps[0].moved);
}

}  // namespace
}  // namespace heed::test
