// States in graphs, without a device: which passes write them, in which order, and what is refused.
#include "graph/schedule/state.hpp"
#include "graph/support.hpp"
#include "harness/catch.hpp"

using namespace heed;
using namespace heed::test;

namespace {

// A plan's passes as text: "matmul rotary", with a star after each that writes a state.
std::string passes_of(const Graph& g, const ScheduleOptions& options = {}) {
  const Scheduled s = schedule_of(g, options);
  INFO(s.messages);
  REQUIRE(s.status == Status::Ok);
  std::string text;
  for (const Node& node : s.schedule.passes) {
    const bool writes = s.schedule.placement(node.outputs[0]).space == Placement::Space::State;
    text += (text.empty() ? "" : " ") + std::string(to_string(node.op)) + (writes ? "*" : "");
  }
  return text;
}

// Rows of a decoder's layer.
struct Step {
  Graph g;
  Dim past = g.position("past", 31), tokens = g.extent("tokens", 32);
  Tensor x = g.input("x", {1, tokens, 24}), w = g.weight("w", {24, 24});
  Tensor linear() { return g.linear(x, w); }
  Tensor heads(Tensor rows) { return g.reshape(rows, {1, tokens, 3, 8}); }
};

}  // namespace

TEST_CASE("state: the pass that makes rows writes them where they stay", "[graph][state]") {
  SECTION("of a product, seen as heads") {
    Step s;
    (void)s.g.append(s.g.state("k", {1, 32, 3, 8}), s.heads(s.linear()), 1, s.past);
    const Scheduled made = schedule_of(s.g);
    REQUIRE(made.status == Status::Ok);
    REQUIRE(ops_of(made.schedule) == std::vector<Op>{Op::Matmul});
    CHECK(made.schedule.passes[0].label == "matmul+append");
    CHECK(made.schedule.scratch_bytes == 0);
    // Row 3 of a run is 24 elements after row 2, and the first row is at the position.
    std::vector<int64_t> sizes(made.schedule.sizes.count());
    CHECK(made.schedule.sizes.evaluate(std::vector<int64_t>{5, 4}, sizes));
    const View view = resolve(made.schedule, made.schedule.passes[0].outputs[0], {.sizes = sizes});
    CHECK(view.offset == 5 * 24);
    CHECK(view.rank == 3);
    CHECK(view.dim[1] == 4);
    CHECK(view.stride[1] == 24);
    CHECK(view.stride[2] == 1);
  }
  SECTION("of a batch") {
    Graph g;
    const Dim batch = g.extent("batch", 4), tokens = g.extent("tokens", 8);
    const Tensor y = g.linear(g.input("x", {batch, tokens, 6}), g.weight("w", {6, 6}));
    const Tensor place = g.slice(g.state("k", {4, 16, 6}), 0, 0, batch);
    (void)g.append(place, y, 1, g.position("past", 8));
    CHECK(passes_of(g) == "matmul*");
  }
  SECTION("heads of a product that lie apart in the state") {
    for (const bool biased : {false, true}) {
      Step s;
      const Tensor y = biased ? s.g.linear(s.x, s.w, s.g.weight("bias", {24})) : s.linear();
      (void)s.g.append(s.g.state("k", {1, 3, 32, 8}), s.g.transpose(s.heads(y), 1, 2), 2, s.past);
      const Scheduled made = schedule_of(s.g);
      REQUIRE(made.status == Status::Ok);
      REQUIRE(ops_of(made.schedule) == std::vector<Op>{Op::Matmul});
      CHECK(made.schedule.scratch_bytes == 0);
      // Head 2 begins 64 rows after head 0, row 3 of a run is 24 elements after row 0, and the first row is at the position.
      std::vector<int64_t> sizes(made.schedule.sizes.count());
      CHECK(made.schedule.sizes.evaluate(std::vector<int64_t>{5, 4}, sizes));
      const View view = resolve(made.schedule, made.schedule.passes[0].outputs[0], {.sizes = sizes});
      CHECK(view.offset == 5 * 8);
      CHECK(view.dim[0] == 3);
      CHECK(view.stride[0] == 32 * 8);
      CHECK(view.dim[2] == 4);
      CHECK(view.stride[2] == 8);
    }
  }
  SECTION("turned heads, which lie apart in the state") {
    Step s;
    const Tensor turned = s.g.rotary(s.g.transpose(s.heads(s.linear()), 1, 2));
    (void)s.g.append(s.g.state("k", {1, 3, 32, 8}), turned, 2, s.past);
    CHECK(passes_of(s.g) == "matmul rotary*");
  }
  SECTION("turned heads behind each other's tokens") {
    Step s;
    const Tensor turned = s.g.rotary(s.g.transpose(s.heads(s.linear()), 1, 2));
    (void)s.g.append(s.g.state("k", {1, 32, 3, 8}), s.g.transpose(turned, 1, 2), 1, s.past);
    CHECK(passes_of(s.g) == "matmul rotary*");
  }
  SECTION("keys and values between each other in one state") {
    Step s;
    const Tensor both = s.g.state("kv", {32, 2, 24});
    const Tensor keys = s.g.reshape(s.linear(), {s.tokens, 1, 24}), values = s.g.reshape(s.linear(), {s.tokens, 1, 24});
    const Tensor place = s.g.slice(both, 0, s.past, s.tokens);
    Tensor written = s.g.append(place, keys, 1, 0);
    written = s.g.append(written, values, 1, 1);
    s.g.output("y", written);
    CHECK(passes_of(s.g) == "matmul* matmul* elementwise");
  }
  SECTION("a product with its whole epilogue") {
    Step s;
    const Tensor y = s.g.add(s.g.activation(s.linear(), Activation::Silu), s.x);
    (void)s.g.append(s.g.state("k", {1, 32, 24}), y, 1, s.past);
    CHECK(passes_of(s.g) == "matmul*");
  }
  SECTION("a token") {
    Step s;
    (void)s.g.append(s.g.state("ids", {1, 32}, DType::I32), s.g.argmax(s.linear()), 1, s.past);
    CHECK(passes_of(s.g) == "matmul argmax*");
  }
}

TEST_CASE("state: a new value is computed where the old one lies", "[graph][state]") {
  const auto passes = [](auto&& value) {
    Graph g;
    const Tensor s = g.state("s", {4, 8}), part = g.slice(s, 0, 1, 2), x = g.input("x", {4, 8});
    value(g, s, part, x);
    return passes_of(g);
  };
  CHECK(passes([](Graph& g, Tensor s, Tensor, Tensor x) { (void)g.assign(s, g.add(s, x)); }) == "elementwise*");
  CHECK(passes([](Graph& g, Tensor s, Tensor, Tensor) { (void)g.assign(s, g.mul(s, s)); }) == "elementwise*");
  CHECK(passes([](Graph& g, Tensor, Tensor part, Tensor) {
          (void)g.assign(part, g.activation(g.scale(part, 0.5f), Activation::Tanh));
        }) == "elementwise*");
  // Different elements: another row, one row for all, a whole row for each element.
  CHECK(passes([](Graph& g, Tensor s, Tensor part, Tensor) {
          (void)g.assign(part, g.scale(g.slice(s, 0, 0, 2), 2.0f));
        }) == "elementwise elementwise*");
  CHECK(passes([](Graph& g, Tensor s, Tensor, Tensor) { (void)g.assign(s, g.add(s, g.slice(s, 0, 0, 1))); }) ==
        "elementwise elementwise*");
  CHECK(passes([](Graph& g, Tensor s, Tensor, Tensor) { (void)g.assign(s, g.rmsnorm(s, {}, 1e-5f)); }) ==
        "rmsnorm elementwise*");
  // Another operation reads the old value in between.
  CHECK(passes([](Graph& g, Tensor s, Tensor, Tensor x) {
          const Tensor sum = g.add(s, x);
          g.output("y", g.scale(s, 2.0f));
          (void)g.assign(s, sum);
        }) == "elementwise elementwise elementwise*");
  // Transposed, elements correspond to other elements.
  Graph g;
  const Tensor square = g.state("q", {8, 8});
  (void)g.assign(square, g.transpose(g.scale(square, 2.0f), 0, 1));
  CHECK(passes_of(g) == "elementwise elementwise*");
}

TEST_CASE("state: rows are copied where the pass cannot write them", "[graph][state]") {
  SECTION("somebody else reads them") {
    Step s;
    const Tensor y = s.linear();
    (void)s.g.append(s.g.state("k", {1, 32, 24}), y, 1, s.past);
    s.g.output("y", y);
    CHECK(passes_of(s.g) == "matmul elementwise*");
  }
  SECTION("heads of a product that lie apart in the state, behind a bias and what is added") {
    Step s;
    const Tensor y = s.g.add(s.g.linear(s.x, s.w, s.g.weight("bias", {24})), s.x);
    (void)s.g.append(s.g.state("k", {1, 3, 32, 8}), s.g.transpose(s.heads(y), 1, 2), 2, s.past);
    CHECK(passes_of(s.g) == "matmul elementwise*");
  }
  SECTION("a part of them") {
    Step s;
    (void)s.g.append(s.g.state("k", {1, 32, 12}), s.g.slice(s.linear(), 2, 0, 12), 1, s.past);
    CHECK(passes_of(s.g) == "matmul elementwise*");
  }
  SECTION("columns of a product would lie apart") {
    Step s;
    (void)s.g.append(s.g.state("k", {1, 24, 32}), s.g.transpose(s.linear(), 1, 2), 2, s.past);
    CHECK(passes_of(s.g) == "matmul elementwise*");
  }
  SECTION("another type") {
    Step s;
    (void)s.g.append(s.g.state("k", {1, 32, 24}, DType::F16), s.linear(), 1, s.past);
    CHECK(passes_of(s.g) == "matmul elementwise*");
    const detail::PlanningDevice device({.converts_results = true});
    const ScheduleOptions converting = {.device = &device};
    CHECK(passes_of(s.g, converting) == "matmul*");
    Step t;  // an operation that converts nothing; but the copy becomes a step of it
    (void)t.g.append(t.g.state("k", {1, 32, 24}, DType::F16), t.g.scale(t.x, 2.0f), 1, t.past);
    CHECK(passes_of(t.g, converting) == "elementwise*");
  }
  SECTION("inputs") {
    Step s;
    (void)s.g.append(s.g.state("k", {1, 32, 24}), s.x, 1, s.past);
    CHECK(passes_of(s.g) == "elementwise*");
  }
  SECTION("the pass reads the state, or somebody does before the write") {
    Step s;
    const Tensor k = s.g.state("k", {1, 32, 24});
    (void)s.g.append(k, s.g.scale(s.g.slice(k, 1, 0, s.tokens), 2.0f), 1, s.past);
    CHECK(passes_of(s.g) == "elementwise elementwise*");
    Step t;
    const Tensor state = t.g.state("k", {1, 32, 24});
    const Tensor y = t.linear();
    t.g.output("before", t.g.scale(state, 2.0f));
    (void)t.g.append(state, y, 1, t.past);
    CHECK(passes_of(t.g) == "matmul elementwise elementwise*");
  }
}

TEST_CASE("state: reads and writes keep the order of the calls", "[graph][state]") {
  // Fused otherwise, the sum would move into the matmul after the write, or the read of the state into the sum's place.
  Graph g;
  const Tensor before = g.state("s", {4, 8});
  const Tensor read = g.scale(before, 3.0f);
  const Tensor after = g.assign(before, g.input("x", {4, 8}));
  g.output("y", g.activation(read, Activation::Relu));
  g.output("z", after);
  const Scheduled s = schedule_of(g);
  REQUIRE(s.status == Status::Ok);
  CHECK(passes_of(g) == "elementwise elementwise* elementwise elementwise");
  CHECK(simple_of(s.schedule.passes[0].as<ElementwiseAttrs>())->scale == 3.0f);

  Graph h;  // in evaluation this dropout does nothing, but it is a read
  const Tensor old = h.state("s", {4, 8});
  const Tensor kept = h.dropout(old, 0.5f);
  (void)h.assign(old, h.input("x", {4, 8}));
  h.output("y", h.softmax(kept));
  CHECK(passes_of(h) == "elementwise elementwise* softmax");

  Graph o;  // an output is a read, too
  const Tensor first = o.state("s", {4, 8});
  o.output("old", first);
  CHECK(o.data().nodes.back().label == "old.output");
  (void)o.assign(first, o.input("x", {4, 8}));
  CHECK(passes_of(o) == "elementwise elementwise*");

  Graph m;  // the second operation comes first, but its write is the later one
  const Tensor state = m.state("s", {4, 8});
  const Tensor late = m.matmul(m.input("a", {4, 8}), m.weight("w", {8, 8}));
  const Tensor early = m.matmul(m.input("b", {4, 8}), m.weight("w", {8, 8}));
  (void)m.assign(m.assign(state, early), late);
  const Scheduled order = schedule_of(m);
  REQUIRE(ops_of(order.schedule) == std::vector<Op>{Op::Matmul, Op::Matmul, Op::Elementwise});
  CHECK(order.schedule.placement(order.schedule.passes[0].outputs[0]).space == Placement::Space::Scratch);
  CHECK(order.schedule.placement(order.schedule.passes[1].outputs[0]).space == Placement::Space::State);
}

TEST_CASE("state: a plan holds those that its passes use, in one layout whatever the calls' order", "[graph][state]") {
  Graph g;
  (void)g.state("unused", {7});
  const Tensor b = g.state("b", {3}, DType::F16), a = g.state("a", {5, 2}), c = g.state("c", {3}, DType::U8);
  (void)g.assign(a, g.input("x", {5, 2}));
  (void)g.assign(c, g.input("z", {3}, DType::U8));
  g.output("y", b);
  const Scheduled s = schedule_of(g);
  REQUIRE(s.status == Status::Ok);
  const detail::StateLayout layout = detail::layout_of(s.schedule, 64);
  REQUIRE(layout.tensors.size() == 3);
  CHECK(layout.tensors[0] == detail::StateTensor{"a", DType::F32, {5, 2}, 0, 40});
  CHECK(layout.tensors[1] == detail::StateTensor{"b", DType::F16, {3}, 64, 6});
  CHECK(layout.tensors[2] == detail::StateTensor{"c", DType::U8, {3}, 128, 3});
  CHECK(layout.bytes == 132);
  CHECK(layout.find("b") == &layout.tensors[1]);
  CHECK(layout.find("unused") == nullptr);
}

TEST_CASE("state: together they must be addressable", "[graph][state]") {
  Graph g;
  for (const char* name : {"a", "b", "c", "d"})
    (void)g.append(g.state(name, {(int64_t{1} << 59) - 1}), g.input(std::string("x") + name, {1}), 0, 0);
  const Scheduled made = schedule_of(g);
  CHECK(made.status == Status::InvalidGraph);
  CHECK_THAT(made.messages, holds("the states are more than can be addressed"));
}

TEST_CASE("state: mistakes are named", "[graph][state]") {
  struct Mistake {
    Status status;
    const char* text;
    void (*make)(Graph& g);
  };
  const Mistake mistakes[] = {
      {Status::InvalidArgument, "name is empty", [](Graph& g) { (void)g.state("", {3}); }},
      {Status::InvalidArgument, "cannot have extents", [](Graph& g) { (void)g.state("s", {g.extent("n", 3)}); }},
      {Status::InvalidArgument, "dim 0 is 0", [](Graph& g) { (void)g.state("s", {0}); }},
      {Status::ShapeMismatch, "'s' f32 [3] was declared before; now f32 [4]",
       [](Graph& g) { (void)g.state("s", {3}), (void)g.state("s", {4}); }},
      {Status::ShapeMismatch, "now f16 [3]",
       [](Graph& g) { (void)g.state("s", {3}), (void)g.state("s", {3}, DType::F16); }},
      {Status::InvalidArgument, "neither a state nor a view of one",
       [](Graph& g) { (void)g.append(g.input("x", {3}), g.input("y", {1}), 0, 0); }},
      {Status::ShapeMismatch, "append: 'x' f32 [2, 1] cannot be written to 's' f32 [3]",
       [](Graph& g) { (void)g.append(g.state("s", {3}), g.input("x", {2, 1}), 0, 0); }},
      {Status::ShapeMismatch, "'x' f32 [1, 3] cannot be written to 's' f32 [1, 2]",
       [](Graph& g) { (void)g.append(g.state("s", {4, 2}), g.input("x", {1, 3}), 0, 0); }},
      {Status::DTypeMismatch, "'x' i32 [3] cannot be written to 's' f32 [3]",
       [](Graph& g) { (void)g.assign(g.state("s", {3}), g.input("x", {3}, DType::I32)); }},
      {Status::InvalidArgument, "append: elements 2 + 2 of axis 0 of 's' f32 [3] are not within it",
       [](Graph& g) { (void)g.append(g.state("s", {3}), g.input("x", {2}), 0, 2); }},
      {Status::InvalidArgument, "axis 1 is outside",
       [](Graph& g) { (void)g.append(g.state("s", {3}), g.input("x", {2}), 1, 0); }},
      {Status::InvalidArgument, "another graph",
       [](Graph& g) { (void)g.append(g.state("s", {3}), g.input("x", {1}), 0, Graph().position("p", 2)); }},
      {Status::InvalidArgument, "'s' f32 [3] is what the state was before it was written",
       [](Graph& g) {
         const Tensor old = g.state("s", {3});
         (void)g.assign(old, g.input("x", {3}));
         g.output("y", old);
       }},
      {Status::InvalidArgument, "'s' f32 [2] is what the state was before it was written",
       [](Graph& g) {
         const Tensor old = g.slice(g.state("s", {3}), 0, 1, 2);
         (void)g.assign(g.state("s", {3}), g.input("x", {3}));
         g.output("y", g.scale(old, 2.0f));
       }},
      {Status::InvalidArgument, "before it was written",
       [](Graph& g) {
         const Tensor old = g.state("s", {3});
         (void)g.assign(old, g.input("x", {3}));
         (void)g.assign(old, g.input("y", {3}));
       }},
      {Status::InvalidArgument, "not a tensor of this graph", [](Graph& g) { (void)g.assign(g.state("s", {3}), {}); }},
  };
  for (const Mistake& mistake : mistakes) {
    Graph g;
    mistake.make(g);
    INFO(mistake.text << " / " << g.error());
    CHECK(g.status() == mistake.status);
    CHECK(std::string(g.error()).find(mistake.text) != std::string::npos);
  }
  Graph g;
  const Tensor again = g.state("s", {3});
  (void)g.assign(again, g.input("x", {3}));
  g.output("y", g.state("s", {3}));  // the value at that time
  CHECK(g.status() == Status::Ok);
  Graph reads;  // neither an output nor a write
  (void)reads.scale(reads.state("s", {3}), 2.0f);
  const Scheduled s = schedule_of(reads);
  CHECK(s.status == Status::InvalidGraph);
  CHECK(s.messages.find("no output, and writes no state") != std::string::npos);
}
