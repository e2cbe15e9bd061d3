#include "harness/catch.hpp"

#include "harness/counting.hpp"
#include "support.hpp"

using namespace heed;
using namespace heed::test;

TEST_CASE("graph: the first mistake sticks, names both values, and compile returns it", "[graph]") {
  const auto refuses = [](const char* name, Status status, std::vector<const char*> words,
                          const std::function<void(Graph&)>& make) {
    INFO(name);
    Graph g;
    make(g);
    CHECK(to_string(g.status()) == std::string(to_string(status)));
    for (const char* word : words) CHECK_THAT(g.error(), holds(word));
    const std::string first = g.error();
    (void)g.reshape(g.input("later", {2}), {3});
    CHECK(g.error() == first);
    const Scheduled s = schedule_of(g);
    CHECK(s.status == status);
    CHECK_THAT(s.messages, holds(first));
  };
  refuses("inner sizes differ", Status::ShapeMismatch, {"matmul", "'a' f32 [2, 3]", "'b' f32 [4, 5]"},
          [](Graph& g) { (void)g.matmul(g.input("a", {2, 3}), g.input("b", {4, 5})); });
  refuses("batches differ", Status::ShapeMismatch, {"matmul", "[2, 3, 4]", "[3, 4, 5]"},
          [](Graph& g) { (void)g.matmul(g.input("a", {2, 3, 4}), g.input("b", {3, 4, 5})); });
  refuses("types differ", Status::DTypeMismatch, {"matmul", "f32", "f16"},
          [](Graph& g) { (void)g.matmul(g.input("a", {2, 3}, DType::F16), g.input("b", {3, 5})); });
  refuses("parts of two types", Status::DTypeMismatch, {"concat", "'a' f32 [2, 3]", "'b' f16 [2, 3]"},
          [](Graph& g) { (void)g.concat({g.input("a", {2, 3}), g.input("b", {2, 3}, DType::F16)}, 0); });
  refuses("parts of two widths", Status::ShapeMismatch, {"concat", "'a' f32 [2, 3]", "'b' f32 [2, 4]"},
          [](Graph& g) { (void)g.concat({g.input("a", {2, 3}), g.input("b", {2, 4})}, 0); });
  refuses("a norm of another type", Status::DTypeMismatch, {"rmsnorm", "gamma 'w' f32 [3]", "f16 [2, 3]", "cast"},
          [](Graph& g) {
            const Tensor rows = g.embedding(g.weight("t", {5, 3}, DType::F16), g.input("ids", {2}, DType::I32));
            (void)g.rmsnorm(rows, g.weight("w", {3}), 1e-6f);
          });
  refuses("a norm of another width", Status::ShapeMismatch, {"layernorm", "beta 'w' f32 [4]", "f32 [2, 3]"},
          [](Graph& g) { (void)g.layernorm(g.input("x", {2, 3}), {}, g.weight("w", {4}), 1e-6f); });
  refuses("zero dim", Status::InvalidArgument, {"dim 1 is 0"}, [](Graph& g) { (void)g.input("a", {2, 0}); });
  refuses("negative dim", Status::InvalidArgument, {"dim 0 is -4"}, [](Graph& g) { (void)g.input("a", {-4}); });
  refuses("too many dims", Status::InvalidArgument, {"7 dims", "at most 6"},
          [](Graph& g) { (void)g.input("a", {1, 1, 1, 1, 1, 1, 1}); });
  refuses("a norm of six dims", Status::ShapeMismatch, {"layernorm", "'x'", "at most 5"},
          [](Graph& g) { (void)g.layernorm(g.input("x", {1, 1, 1, 1, 1, 2}), {}, {}, 1e-5f); });
  refuses("no dims", Status::InvalidArgument, {"no dims"}, [](Graph& g) { (void)g.input("a", {}); });
  refuses("too large", Status::InvalidArgument, {"more elements"},
          [](Graph& g) { (void)g.input("a", {INT64_MAX / 2, 4}); });
  refuses("name twice", Status::InvalidArgument, {"'a' exists already"},
          [](Graph& g) { (void)g.input("a", {1}), (void)g.input("a", {1}); });
  refuses("name of an output", Status::InvalidArgument, {"'y' exists already"},
          [](Graph& g) { g.output("y", g.scale(g.input("x", {1}), 2)), (void)g.input("y", {1}); });
  refuses("weight declared with two shapes", Status::ShapeMismatch, {"'w' f32 [2]", "[3]"},
          [](Graph& g) { (void)g.weight("w", {2}), (void)g.weight("w", {3}); });
  refuses("two sizes are -1", Status::InvalidArgument, {"reshape", "dims 0 and 2 are -1"},
          [](Graph& g) { (void)g.reshape(g.input("x", {4, 3}), {-1, 2, -1}); });
  refuses("-1 of no whole number", Status::ShapeMismatch, {"reshape", "[4, 3]", "[1, 5]"},
          [](Graph& g) { (void)g.reshape(g.input("x", {4, 3}), {-1, 5}); });
  refuses("a begin before the axis", Status::InvalidArgument, {"slice", "from -5 on", "axis 1", "'x' f32 [2, 4]"},
          [](Graph& g) { (void)g.slice(g.input("x", {2, 4}), 1, -5, 1); });
  refuses("an end before the begin", Status::InvalidArgument, {"slice", "not within it"},
          [](Graph& g) { (void)g.slice(g.input("x", {2, 4}), 1, 2, -3); });
  refuses("an index before the axis", Status::InvalidArgument, {"from -3 on"},
          [](Graph& g) { (void)g.select(g.input("x", {2, 4}), 0, -3); });
  refuses("the least begin", Status::InvalidArgument, {"not within it"},
          [](Graph& g) { (void)g.slice(g.input("x", {2, 4}), 1, INT64_MIN, INT64_MIN); });
  refuses("a step of 0", Status::InvalidArgument, {"stride", "the step is 0"},
          [](Graph& g) { (void)g.stride(g.input("x", {2, 4}), 1, 0); });
  refuses("steps along an extent", Status::Unsupported, {"stride", "axis 0", "n<=8"},
          [](Graph& g) { (void)g.stride(g.input("x", {g.extent("n", 8)}), 0, 2); });
  refuses("an expansion that is none", Status::ShapeMismatch, {"expand", "[2, 4]", "[4, 4]"},
          [](Graph& g) { (void)g.expand(g.input("x", {2, 4}), {4, 4}); });
  refuses("parts that are not the whole", Status::ShapeMismatch, {"split", "3 together", "axis 1"},
          [](Graph& g) { CHECK(g.split(g.input("x", {2, 4}), 1, {1, 2}).size() == 2); });
  refuses("a write to an expanded state", Status::InvalidArgument, {"assign", "several times"}, [](Graph& g) {
    const Tensor all = g.expand(g.state("s", {1, 4}), {3, 4});
    (void)g.assign(all, g.input("x", {3, 4}));
  });
  refuses("reshape changes the count", Status::ShapeMismatch, {"reshape", "[2, 3]", "[7]"},
          [](Graph& g) { (void)g.reshape(g.input("a", {2, 3}), {7}); });
  refuses("slice beyond the end", Status::InvalidArgument, {"slice", "5 + 3", "[7]"},
          [](Graph& g) { (void)g.slice(g.input("a", {7}), 0, 5, 3); });
  refuses("axis outside", Status::InvalidArgument, {"axis 2", "rank 2"},
          [](Graph& g) { (void)g.transpose(g.input("a", {2, 3}), 0, 2); });
  refuses("extent with two maxima", Status::InvalidArgument, {"'n'", "8", "9"},
          [](Graph& g) { (void)g.extent("n", 8), (void)g.extent("n", 9); });
  refuses("mask of the wrong type", Status::DTypeMismatch, {"mask 'm' f32", "u8"},
          [](Graph& g) { (void)g.softmax(g.input("x", {2, 3}), {.mask = exclude(g.input("m", {2, 3}))}); });
  refuses("key padding of another length", Status::ShapeMismatch, {"key_padding 'm' u8 [2, 4]", "[2, 5, 3]"},
          [](Graph& g) {
            (void)g.softmax(g.input("x", {2, 5, 3}), {.key_padding = keep(g.input("m", {2, 4}, DType::U8))});
          });
  const auto attend = [](Graph& g, const AttentionOptions& options) {
    const Tensor q = g.input("q", {2, 1, 3, 4});
    (void)g.attention(q, q, q, options);
  };
  refuses("a negative window ahead", Status::InvalidArgument, {"window_ahead is -2"},
          [&](Graph& g) { attend(g, {.window_ahead = -2}); });
  refuses("a negative softcap", Status::InvalidArgument, {"softcap is -1"},
          [&](Graph& g) { attend(g, {.softcap = -1}); });
  refuses("scores that are none", Status::InvalidArgument, {"return_scores"},
          [&](Graph& g) { attend(g, {.return_scores = static_cast<Scores>(9)}); });
  refuses("a negative window", Status::InvalidArgument, {"window is -1"},
          [&](Graph& g) { attend(g, {.causal = Causal::TopLeft, .window = -1}); });
  refuses("lengths of another batch", Status::ShapeMismatch, {"lengths 'n' i32 [3]", "[2, 1, 3, 4]"},
          [&](Graph& g) { attend(g, {.lengths = g.input("n", {3}, DType::I32)}); });
  refuses("lengths of another type", Status::DTypeMismatch, {"lengths 'n' f32 [2]", "i32 [B]"},
          [&](Graph& g) { attend(g, {.lengths = g.input("n", {2})}); });
  refuses("positions without causal", Status::InvalidArgument, {"positions", "without causal"},
          [&](Graph& g) { attend(g, {.positions = g.input("n", {2}, DType::I32)}); });
  refuses("heads differ", Status::ShapeMismatch, {"attention", "[1, 2, 3, 4]", "[1, 3, 3, 4]"}, [](Graph& g) {
    const Tensor q = g.input("q", {1, 2, 3, 4}), k = g.input("k", {1, 3, 3, 4});
    (void)g.attention(q, k, k);
  });
  refuses("dropout of everything", Status::InvalidArgument, {"dropout", "p is 1"},
          [](Graph& g) { (void)g.dropout(g.input("x", {2}), 1.0f); });
  refuses("odd encoding", Status::ShapeMismatch, {"even number of channels"},
          [](Graph& g) { (void)g.positional_encoding(g.input("x", {2, 3})); });
  refuses("gamma of another width", Status::ShapeMismatch, {"layernorm", "gamma 'g' f32 [4]", "[2, 3]"},
          [](Graph& g) { (void)g.layernorm(g.input("x", {2, 3}), g.input("g", {4}), {}, 1e-5f); });
  refuses("type that is none", Status::InvalidArgument, {"x is of type 13"},
          [](Graph& g) { (void)g.input("x", {2}, static_cast<DType>(kDTypes)); });
  refuses("padding that is none", Status::InvalidArgument, {"pad", "mode 9"},
          [](Graph& g) { (void)g.pad(g.input("x", {2}), 0, 1, 1, {.mode = static_cast<Padding>(9)}); });
  refuses("a reflection longer than the axis", Status::InvalidArgument, {"pad", "reflecting 3", "axis 1", "[2, 3]"},
          [](Graph& g) { (void)g.pad(g.input("x", {2, 3}), 1, 0, 3, {.mode = Padding::Reflect}); });
  refuses("edges of an extent", Status::Unsupported, {"pad", "axis 0", "constant"},
          [](Graph& g) { (void)g.pad(g.input("x", {g.extent("n", 3)}), 0, 0, 1, {.mode = Padding::Edge}); });
  refuses("nothing left by padding", Status::InvalidArgument, {"slice", "not within"},
          [](Graph& g) { (void)g.pad(g.input("x", {3}), 0, -2, -1); });
  refuses("half an I32 as padding", Status::InvalidArgument, {"number", "0.5", "i32"},
          [](Graph& g) { (void)g.pad(g.input("x", {3}, DType::I32), 0, 1, 0, {.value = 0.5}); });
  refuses("windows without a stride", Status::InvalidArgument, {"windows", "stride 0"},
          [](Graph& g) { (void)g.windows(g.input("x", {9, 2}), 0, 3, {.stride = 0}); });
  refuses("padding below 0 for windows", Status::InvalidArgument, {"pool", "-1 behind"},
          [](Graph& g) { (void)g.pool(g.input("x", {9, 2}), 0, 3, Reduction::Max, {.behind = -1}); });
  refuses("a window beyond its axis", Status::ShapeMismatch, {"conv1d", "5 elements", "axis 1", "[2, 4, 3]"},
          [](Graph& g) { (void)g.conv1d(g.input("x", {2, 4, 3}), g.input("w", {6, 3, 3}), {}, {.dilation = 2}); });
  refuses("channels of another number", Status::ShapeMismatch, {"conv1d", "'w' f32 [6, 3, 2]", "[N, k, C / groups]"},
          [](Graph& g) { (void)g.conv1d(g.input("x", {2, 4, 3}), g.input("w", {6, 3, 2})); });
  refuses("results that groups do not divide", Status::ShapeMismatch, {"conv1d", "'w' f32 [5, 3, 2]", "multiple"},
          [](Graph& g) { (void)g.conv1d(g.input("x", {2, 4, 4}), g.input("w", {5, 3, 2})); });
  refuses("a line as an image", Status::ShapeMismatch, {"conv2d", "x [B, H, W, C]"},
          [](Graph& g) { (void)g.conv2d(g.input("x", {2, 4, 3}), g.input("w", {6, 3, 3})); });
  refuses("windows of bytes' means", Status::DTypeMismatch, {"pool", "u8"},
          [](Graph& g) { (void)g.pool(g.input("x", {9}, DType::U8), 0, 3, Reduction::Mean); });
  refuses("a seventh axis for windows", Status::ShapeMismatch, {"windows", "6 are the most"},
          [](Graph& g) { (void)g.windows(g.input("x", {1, 1, 1, 1, 4, 1}), 4, 2); });
  refuses("a state written through windows", Status::InvalidArgument, {"assign", "several times"}, [](Graph& g) {
    const Tensor seen = g.windows(g.state("s", {9, 2}), 0, 3);
    (void)g.assign(seen, g.input("x", {7, 3, 2}));
  });
  refuses("no tiles", Status::InvalidArgument, {"tile", "0 times"},
          [](Graph& g) { (void)g.tile(g.input("x", {3}), 0, 0); });
  refuses("places of another rank", Status::ShapeMismatch, {"gather", "places", "[2]", "[2, 3]"},
          [](Graph& g) { (void)g.gather(g.input("x", {2, 3}), 1, g.input("at", {2}, DType::I32)); });
  refuses("places that are floats", Status::DTypeMismatch, {"gather", "f32"},
          [](Graph& g) { (void)g.gather(g.input("x", {2, 3}), 1, g.input("at", {2, 3})); });
  refuses("values of another type", Status::DTypeMismatch, {"scatter", "f16"}, [](Graph& g) {
    (void)g.scatter(g.input("x", {2, 3}), 1, g.input("at", {2, 1}, DType::I32), g.input("v", {2, 1}, DType::F16));
  });
  refuses("values of another size", Status::ShapeMismatch, {"scatter_add", "[3, 1]", "[2, 3]"}, [](Graph& g) {
    (void)g.scatter_add(g.input("x", {2, 3}), 1, g.input("at", {3, 1}, DType::I32), g.input("v", {3, 1}));
  });
  refuses("places of another length", Status::ShapeMismatch, {"scatter_add", "[2, 4]", "[2, 2]"}, [](Graph& g) {
    (void)g.scatter_add(g.input("x", {2, 3}), 1, g.input("at", {2, 4}, DType::I32), g.input("v", {2, 2}));
  });
  refuses("a size that is always negative", Status::InvalidArgument, {"dim_difference", "negative"},
          [](Graph& g) { (void)g.dim_difference(g.extent("n", 3), 4); });
  refuses("a divisor that may be 0", Status::InvalidArgument, {"dim_quotient", "may be 0"},
          [](Graph& g) { (void)g.dim_quotient(g.extent("n", 3), g.position("p", 4)); });
  refuses("a quotient of constants with a rest", Status::InvalidArgument, {"dim_quotient", "(7 / 2)", "whole"},
          [](Graph& g) { (void)g.dim_quotient(7, 2); });
  refuses("a dim that is always 0", Status::InvalidArgument, {"input", "dim 0", "may be 0"},
          [](Graph& g) { (void)g.input("x", {g.dim_difference(g.position("n", 1), g.extent("m", 1))}); });
  refuses("activation that is none", Status::InvalidArgument, {"activation 77"},
          [](Graph& g) { (void)g.activation(g.input("x", {2}), static_cast<Activation>(77)); });
  refuses("reduction that is none", Status::InvalidArgument, {"reduction 77"},
          [](Graph& g) { (void)g.reduce(g.input("x", {2}), static_cast<Reduction>(77), {0}); });
  refuses("axis that is named twice", Status::InvalidArgument, {"axis -1", "twice"},
          [](Graph& g) { (void)g.reduce(g.input("x", {2, 3}), Reduction::Sum, {1, -1}); });
  refuses("product of whole numbers", Status::DTypeMismatch, {"'x'", "bf16 is needed"},
          [](Graph& g) { (void)g.reduce(g.input("x", {2}, DType::I32), Reduction::Product, {0}); });
  refuses("running sum of whole numbers", Status::DTypeMismatch, {"'x'", "bf16 is needed"},
          [](Graph& g) { (void)g.cumsum(g.input("x", {2}, DType::I32), 0); });
  refuses("more elements than an axis has", Status::InvalidArgument, {"k is 4", "'x'"},
          [](Graph& g) { (void)g.top_k(g.input("x", {2, 3}), 4); });
  refuses("more elements than an axis may have", Status::InvalidArgument, {"k is 2", "'x'"},
          [](Graph& g) { (void)g.top_k(g.input("x", {2, g.extent("n", 9)}), 2); });
  refuses("causal that is none", Status::InvalidArgument, {"causal"},
          [](Graph& g) { (void)g.softmax(g.input("x", {2, 2}), {.causal = static_cast<Causal>(3)}); });
  refuses("extent of another graph", Status::InvalidArgument, {"dim 0", "another graph"}, [](Graph& g) {
    Graph other;
    (void)g.extent("n", 8), (void)g.input("x", {other.extent("n", 9)});
  });
  refuses("a size that can be 0", Status::InvalidArgument, {"dim 0", "another graph"}, [](Graph& g) {
    Dim dim = 0;
    (void)g.input("x", {2});
    for (dim.expr = 0; g.data().sizes.evaluate(dim.expr, {}) != 0;) ++dim.expr;
    (void)g.input("y", {dim});
  });
  refuses("table of positions too large", Status::InvalidArgument, {"too large"},
          [](Graph& g) { (void)g.positional_encoding(g.input("x", {1 << 20, 1 << 9})); });
  refuses("too many layers", Status::InvalidArgument, {"2147483647 layers", "1000"},
          [](Graph& g) { (void)nn::encoder_stack(g, g.input("x", {1, 2, 4}), "e", {}, {.layers = INT32_MAX}); });
  refuses("dropout of a layer that is no number", Status::InvalidArgument, {"dropout", "nan"},
          [](Graph& g) { (void)nn::feed_forward(g, g.input("x", {2, 4}), "f", {.output_dropout = NAN}); });
  refuses("invalid operand", Status::InvalidArgument, {"operand 1"},
          [](Graph& g) { (void)g.add(g.input("x", {2}), Tensor{}); });
}

TEST_CASE("graph: a graph without output, and tensors beyond the device's limit, are refused", "[graph]") {
  Graph g;
  const Tensor x = g.input("x", {100, 100});
  CHECK(schedule_of(g).status == Status::InvalidGraph);
  g.output("y", g.scale(x, 2));
  const auto limited_to = [](uint64_t bytes) { return detail::PlanningDevice({.max_tensor_bytes = bytes}); };
  const auto too_small = limited_to(39999), just_right = limited_to(40000);
  const Scheduled s = schedule_of(g, {.device = &too_small});
  CHECK(s.status == Status::Unsupported);
  CHECK_THAT(s.messages, holds("40000"));
  CHECK_THAT(s.messages, holds("39999"));
  CHECK(schedule_of(g, {.device = &just_right}).status == Status::Ok);
}

TEST_CASE("graph: sums of sizes stay short, and tensors that no machine holds are refused", "[graph]") {
  Graph g;
  Tensor x = g.input("x", {g.extent("n", 2)});
  for (int i = 0; i < 29; ++i) x = g.concat({x, x}, 0);
  CHECK(g.status() == Status::Ok);
  CHECK(g.data().sizes.count() < 200);
  CHECK(g.shape(g.reshape(x, {1 << 29, g.extent("n", 2)})).rank == 2);

  Graph wide;
  const Dim rows = wide.extent("rows", 1 << 22), columns = wide.extent("columns", (1 << 22) + 1);
  const Tensor a = wide.input("a", {rows, 1}), b = wide.input("b", {1, columns});
  wide.output("y", wide.mean(wide.add(a, b), 1));
  const Scheduled s = schedule_of(wide);
  CHECK(s.status == Status::InvalidGraph);
  CHECK_THAT(s.messages, holds("add f32 [rows<=4194304, columns<=4194305] has more elements than can be addressed"));

  // The byte count of these rows would overflow, although the rows may be views of few elements.
  for (const int64_t longest : {(int64_t{1} << 44) + 1, (int64_t{1} << 59) - 1}) {
    Graph lengthy;
    const Tensor x = lengthy.input("x", {1, longest});
    lengthy.output("y", lengthy.matmul(x, x, {.transpose_b = true}));
    CHECK(schedule_of(lengthy).status == Status::InvalidGraph);
  }
}

TEST_CASE("graph: extents outside 1..max are refused by name", "[graph]") {
  Graph g;
  const Dim n = g.extent("n", 8);
  g.output("y", g.scale(g.input("x", {n}), 2));
  const Scheduled s = schedule_of(g);
  REQUIRE(s.status == Status::Ok);
  std::vector<int64_t> extents(s.schedule.extents.size()), sizes(s.schedule.sizes.count());
  const auto resolve_with = [&](std::string_view name, int64_t value) {
    return resolve_extents(s.schedule, std::vector<ExtentValue>{{name, value}}, no_log(), extents, sizes);
  };
  CHECK(resolve_with("n", 8) == Status::Ok);
  CHECK(resolve_with("n", 9) == Status::ExtentOutOfRange);
  CHECK(resolve_with("n", 0) == Status::ExtentOutOfRange);
  CHECK(resolve_with("m", 1) == Status::NotFound);
  const std::vector<ExtentValue> twice = {{"n", 5}, {"n", 5}};
  CHECK(resolve_extents(s.schedule, twice, no_log(), extents, sizes) == Status::InvalidArgument);
  Messages messages;
  messages.refused(resolve_extents(s.schedule, std::vector<ExtentValue>{}, messages.log(), extents, sizes),
                   Status::ExtentOutOfRange, "extent 'n' is not given; this plan takes 1 to 8");
}

TEST_CASE("graph: constants are one for all copies, and without memory for them there is a message", "[graph]") {
  Graph g;
  const float values[] = {1, 2, 3, 4};
  g.output("y", g.add(g.input("x", {4}), g.constant("ones", {4}, values)));
  const Graph copy = g;
  const Scheduled s = schedule_of(copy);
  REQUIRE(s.status == Status::Ok);
  CHECK(s.schedule.constants[0].data.data() == g.data().constants[0].data.data());

  const Tensor x = g.input("long", {1 << 10, 1 << 10});
  {
    const LimitNews limit(1 << 20);
    CHECK_FALSE(g.positional_encoding(x).valid());
  }
  CHECK(g.status() == Status::OutOfMemory);
  CHECK_THAT(g.error(), holds("no memory for 4194304 bytes"));
}

TEST_CASE("graph: is a value", "[graph]") {
  Graph a;
  const Tensor x = a.input("x", {4});
  Graph b = a;
  b.output("y", b.scale(x, 3));
  CHECK(schedule_of(a).status == Status::InvalidGraph);
  CHECK(schedule_of(b).status == Status::Ok);
  Graph c = std::move(b);
  CHECK(schedule_of(c).status == Status::Ok);
}
