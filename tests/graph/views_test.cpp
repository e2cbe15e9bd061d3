#include "harness/catch.hpp"

#include "graph/graph_data.hpp"
#include "support.hpp"

using namespace heed;
using namespace heed::test;

namespace {

View at_max(const Schedule& schedule, Tensor tensor) { return resolve(schedule, tensor, {schedule.max_values, 0, {}}); }

}  // namespace

TEST_CASE("views: a fused qkv projection is taken apart without a copy", "[graph]") {
  Graph g;
  const Dim tokens = g.extent("tokens", 10);
  const Tensor x = g.input("x", {2, tokens, 8});
  const Tensor qkv = g.reshape(g.linear(x, g.weight("w", {24, 8})), {2, tokens, 3, 4, 2});
  Tensor part[3];
  for (int i = 0; i < 3; ++i) part[i] = g.transpose(g.select(qkv, 2, i), 1, 2);  // [B, H, S, D]
  const auto y = g.attention(part[0], part[1], part[2]);
  g.output("y", g.reshape(g.transpose(y.output, 1, 2), {2, tokens, 8}));
  const Scheduled s = schedule_of(g);
  REQUIRE(s.status == Status::Ok);
  CHECK(ops_of(s.schedule) == std::vector<Op>{Op::Matmul, Op::Matmul, Op::Softmax, Op::Matmul});

  const View key = at_max(s.schedule, part[1]);
  CHECK(key.rank == 4);
  CHECK((key.dim[0] == 2 && key.dim[1] == 4 && key.dim[2] == 10 && key.dim[3] == 2));
  CHECK((key.stride[0] == 240 && key.stride[1] == 2 && key.stride[2] == 24 && key.stride[3] == 1));
  CHECK(key.offset == 8);
}

TEST_CASE("views: reshape splits and merges strided dims in place, and copies only where it must", "[graph]") {
  Graph g;
  const Tensor x = g.input("x", {2, 5, 12});
  const Tensor middle = g.slice(x, 2, 4, 4);                       // rows of 4 within rows of 12
  const Tensor split = g.reshape(middle, {2, 5, 2, 2});            // the last dim splits in place
  const Tensor merged = g.reshape(middle, {10, 4});                // the leading dims are one run of rows
  const Tensor copied = g.reshape(g.transpose(x, 1, 2), {2, 60});  // no strides can express this
  CHECK(g.data().tensors[split.id].storage == x.id);
  CHECK(g.data().tensors[merged.id].storage == x.id);
  CHECK(g.data().tensors[copied.id].storage != x.id);
  g.output("a", split);
  g.output("b", merged);
  g.output("c", copied);
  const Scheduled s = schedule_of(g);
  REQUIRE(s.status == Status::Ok);
  CHECK(at_max(s.schedule, split).stride[2] == 2);
  CHECK(at_max(s.schedule, merged).stride[0] == 12);
}

TEST_CASE("views: broadcasting sets strides of 0", "[graph]") {
  View mask;
  mask.rank = 2;
  mask.dim[0] = 1, mask.dim[1] = 7;
  mask.stride[0] = 7, mask.stride[1] = 1;
  View scores;
  scores.rank = 4;
  for (int i = 0; i < 4; ++i) scores.dim[i] = 4 + i;
  const View wide = broadcast_to(mask, scores);
  CHECK((wide.stride[0] == 0 && wide.stride[1] == 0 && wide.stride[2] == 0 && wide.stride[3] == 1));
  CHECK(wide.elements() == scores.elements());
}
