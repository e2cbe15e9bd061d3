// Inputs and outputs of ONNX files as states: their values from step to step, and pairs that cannot be a state.
#include <heed/onnx.hpp>

#include "harness/devices.hpp"
#include "hostile/hostile.hpp"
#include "onnx/imported.hpp"

using namespace heed;
using namespace heed::test;

namespace {

constexpr int64_t kWidth = 4, kPast = 9, kNew = 3, kBatch = 3, kRows = kPast + kNew;

// x [batch, seq, 4] with positions that count from the past on; one attention with a mask over past and new keys, and one whose mask is
// built like Llama's, from zeros for the past and a triangle for new keys. Keys and values are caches.
Proto decoder_model() {
  Proto graph;
  graph.message(11, value_proto("x", ElementType::F32, {"batch", "seq", "4"}))
      .message(11, value_proto("mask", ElementType::F32, {"batch", "total"}));
  for (const char* name : {"past_key_values.0.key", "past_key_values.0.value"})
    graph.message(11, value_proto(name, ElementType::F32, {"batch", "past", "4"}));
  for (const char* name : {"y", "present.0.key", "present.0.value"})
    graph.message(12, value_proto(name, ElementType::F32, {"batch", "n", "4"}));
  graph.message(5, floats_proto("positions", {kRows, kWidth}, pattern(kRows * kWidth, 1)))
      .message(5, floats_proto("wk", {4, 4}, pattern(16, 2)))
      .message(5, floats_proto("wv", {4, 4}, pattern(16, 3)));
  graph.message(5, integers_proto("one", {}, {1}))
      .message(5, integers_proto("axis", {1}, {1}))
      .message(5, integers_proto("first", {1}, {0}))
      .message(5, floats_proto("quarter", {1, 1}, {0.25f}));
  graph.message(1, node_proto("of past", "Shape", {"past_key_values.0.key"}, {"sp"}))
      .message(1, node_proto("of x", "Shape", {"x"}, {"sx"}))
      .message(1, node_proto("past", "Gather", {"sp", "one"}, {"p"}))
      .message(1, node_proto("seq", "Gather", {"sx", "one"}, {"s"}))
      .message(1, node_proto("total", "Add", {"p", "s"}, {"t"}))
      .message(1, node_proto("range", "Range", {"p", "t", "one"}, {"r"}))
      .message(1, node_proto("rows", "Gather", {"positions", "r"}, {"rows"}))
      .message(1, node_proto("with positions", "Add", {"x", "rows"}, {"h"}))
      .message(1, node_proto("keys", "MatMul", {"h", "wk"}, {"k"}))
      .message(1, node_proto("values", "MatMul", {"h", "wv"}, {"v"}));
  graph
      .message(1,
               with(node_proto("more keys", "Concat", {"past_key_values.0.key", "k"}, {"present.0.key"}), "axis", -2))
      .message(1, with(node_proto("more values", "Concat", {"past_key_values.0.value", "v"}, {"present.0.value"}),
                       "axis", 1));
  graph.message(1, with(node_proto("turn", "Transpose", {"present.0.key"}, {"kt"}), "perm", {0, 2, 1}))
      .message(1, node_proto("scores", "MatMul", {"h", "kt"}, {"scores"}))
      .message(1, node_proto("mask row", "Unsqueeze", {"mask", "axis"}, {"m"}))
      .message(1, node_proto("p list", "Unsqueeze", {"p", "first"}, {"pl"}))
      .message(1, node_proto("s list", "Unsqueeze", {"s", "first"}, {"sl"}))
      .message(1, with(node_proto("of zeros", "Concat", {"sl", "pl"}, {"sp1"}), "axis", 0))
      .message(1, with(node_proto("of new", "Concat", {"sl", "sl"}, {"ss"}), "axis", 0))
      .message(1, node_proto("zeros", "ConstantOfShape", {"sp1"}, {"zeros"}))
      .message(1, node_proto("new", "Expand", {"quarter", "ss"}, {"quarters"}))
      .message(1, with(node_proto("own mask", "Concat", {"zeros", "quarters"}, {"own"}), "axis", -1))
      .message(1, node_proto("both masks", "Add", {"m", "own"}, {"both"}))
      .message(1, node_proto("masked", "Add", {"scores", "both"}, {"masked"}))
      .message(1, with(node_proto("weights", "Softmax", {"masked"}, {"w"}), "axis", -1))
      .message(1, node_proto("mixed", "MatMul", {"w", "present.0.value"}, {"y"}));
  return model_proto(graph);
}

// The same kind with the operator of opset 23, x [batch, 2, seq, 4].
Proto attention_model() {
  Proto graph;
  graph.message(11, value_proto("x", ElementType::F32, {"batch", "2", "seq", "4"}));
  for (const char* name : {"past_key_0", "past_value_0"})
    graph.message(11, value_proto(name, ElementType::F32, {"batch", "2", "past", "4"}));
  for (const char* name : {"y", "present_key_0", "present_value_0"})
    graph.message(12, value_proto(name, ElementType::F32, {"batch", "2", "n", "4"}));
  graph.message(5, floats_proto("wv", {4, 4}, pattern(16, 3)));
  graph.message(1, node_proto("values", "MatMul", {"x", "wv"}, {"v"}))
      .message(1, with(node_proto("attend", "Attention", {"x", "x", "v", "", "past_key_0", "past_value_0"},
                                  {"y", "present_key_0", "present_value_0"}),
                       "is_causal", 1));
  return model_proto(graph);
}

// One model as a graph with a State, and as one whose caches are inputs and outputs.
class Steps {
 public:
  Steps(const Proto& model, Device device, std::vector<int64_t> cache_shape)
      : device_(std::move(device)), whole_(std::move(cache_shape)) {
    const OnnxExtent largest[] = {{"batch", kBatch}, {"seq", kNew}, {"past", kPast}},
                     single[] = {{"batch", kBatch}, {"seq", 1}, {"past", kRows - 1}},
                     first[] = {{"batch", kBatch}, {"seq", kNew}, {"past", 0}};
    const auto names = imported(model, {.extents = largest, .largest = kRows});
    const std::vector<OnnxState> pairs(names->model.states().begin(), names->model.states().end());
    REQUIRE(pairs.size() == 2);
    with_state_ = imported(model, {.extents = largest, .largest = kRows, .states = pairs});
    single_ = imported(model, {.extents = single, .largest = kRows, .states = pairs});
    first_ = imported(model, {.extents = first, .largest = kRows});
    later_ = imported(model, {.extents = largest, .largest = kRows});
    plan_ = plan_of(*with_state_, device_);
    single_plan_ = plan_of(*single_, device_);
    first_plan_ = plan_of(*first_, device_);
    later_plan_ = plan_of(*later_, device_);
    for (const OnnxState& pair : pairs) pairs_.emplace_back(pair.past, pair.present);
    caches_.resize(pairs.size());
    state_ = state_of(plan_);
  }

  // x and the mask for `batch` rows and `fresh` tokens after the earlier ones. A separate plan runs single tokens: it shares the State,
  // since the capacity is equal.
  void step(int64_t batch, int64_t fresh, uint32_t seed) {
    std::vector<int64_t> of_x = whole_, of_past = whole_;
    of_x[0] = of_past[0] = batch;
    of_x[of_x.size() - 2] = fresh;
    of_past[of_past.size() - 2] = past_;
    const int64_t of_mask[] = {batch, past_ + fresh};
    const auto count = [](std::span<const int64_t> dims) {
      size_t n = 1;
      for (const int64_t dim : dims) n *= static_cast<size_t>(dim);
      return n;
    };
    const std::vector<float> x = pattern(count(of_x), seed), mask = pattern(count(of_mask), seed + 50);
    const bool is_masked = with_state_->model.inputs()[1].name == "mask";
    std::vector<OnnxShape> shapes = {{"x", of_x}};
    std::vector<HostBuffer> buffers = {{"x", x}};
    if (is_masked) shapes.push_back({"mask", of_mask}), buffers.emplace_back("mask", mask);
    std::vector<float> y(x.size()), wanted(x.size());

    std::vector<HostBuffer> own = buffers;
    own.emplace_back("y", y);
    std::vector<ExtentValue> extents;
    Imported& kept = fresh == 1 ? *single_ : *with_state_;
    REQUIRE(kept.model.find_extents(kept.graph, shapes, kept.messages.log(), &extents) == Status::Ok);
    const auto is_past = [](const ExtentValue& extent) { return extent.name == "past"; };
    CHECK(std::count_if(extents.begin(), extents.end(), is_past) == (is_masked ? 1 : 0));
    if (!is_masked) extents.push_back({"past", past_});
    REQUIRE((fresh == 1 ? single_plan_ : plan_).run(own, extents, {.state = state_}) == Status::Ok);

    Imported& file = past_ == 0 ? *first_ : *later_;
    std::vector<int64_t> of_present = of_past;
    of_present[of_present.size() - 2] += fresh;
    std::vector<std::vector<float>> presents(pairs_.size(), std::vector<float>(count(of_present)));
    buffers.emplace_back("y", wanted);
    for (size_t i = 0; i < pairs_.size(); ++i) {
      shapes.push_back({pairs_[i].first, of_past});
      if (past_ > 0) buffers.emplace_back(pairs_[i].first, caches_[i]);
      buffers.emplace_back(pairs_[i].second, presents[i]);
    }
    REQUIRE(file.model.find_extents(file.graph, shapes, file.messages.log(), &extents) == Status::Ok);
    REQUIRE((past_ == 0 ? first_plan_ : later_plan_).run(buffers, extents) == Status::Ok);
    caches_ = std::move(presents);
    past_ += fresh;
    CHECK(difference(y.data(), wanted) == "");
    for (size_t i = 0; i < pairs_.size(); ++i)
      CHECK(difference(rows(pairs_[i].first, of_present).data(), caches_[i]) == "");
  }

  Status run_too_far() {
    const std::vector<float> x(static_cast<size_t>(kWidth) * 2);
    std::vector<float> y(x.size());
    return plan_.run({{"x", x}, {"y", y}}, {{"batch", 1}, {"seq", 1}, {"past", kPast + 1}}, {.state = state_});
  }

 private:
  static Plan plan_of(Imported& file, Device device) {
    INFO(file.messages.text);
    REQUIRE(file.status == Status::Ok);
    Weights weights;
    REQUIRE(file.model.upload(device, file.graph, file.messages.log(), &weights) == Status::Ok);
    return compiled(device, file.graph, weights);
  }

  // The contents of the State for the first rows of a batch, as far as they are written.
  std::vector<float> rows(const std::string& name, const std::vector<int64_t>& dims) const {
    size_t all = 1;
    for (const int64_t dim : whole_) all *= static_cast<size_t>(dim);
    std::vector<float> memory(all), found;
    REQUIRE(state_.read(name, std::as_writable_bytes(std::span(memory))) == Status::Ok);
    const auto width = static_cast<size_t>(kWidth);
    const auto heads = static_cast<size_t>(dims.size() == 4 ? dims[1] : 1);
    const auto used = static_cast<size_t>(dims[dims.size() - 2]);
    for (size_t i = 0; i < static_cast<size_t>(dims[0]) * heads; ++i) {
      const auto begin = memory.begin() + static_cast<ptrdiff_t>(i * kRows * width);
      found.insert(found.end(), begin, begin + static_cast<ptrdiff_t>(used * width));
    }
    return found;
  }

  Device device_;
  std::vector<int64_t> whole_;
  std::unique_ptr<Imported> with_state_, single_, first_, later_;
  Plan plan_, single_plan_, first_plan_, later_plan_;
  State state_;
  std::vector<std::pair<std::string, std::string>> pairs_;
  std::vector<std::vector<float>> caches_;
  int64_t past_ = 0;
};

}  // namespace

TEST_CASE("onnx: steps through a State give what steps through the host give", "[onnx][state]") {
  ops::on_each([](const ops::TestDevice& device) {
    if (device.interpreted) return;
    Steps decoder(decoder_model(), device, {kBatch, kRows, kWidth});
    Steps attention(attention_model(), device, {kBatch, 2, kRows, kWidth});
    uint32_t seed = 10;
    for (const int64_t fresh : {3, 1, 1, 3, 1}) {
      decoder.step(2, fresh, seed);
      attention.step(2, fresh, ++seed);
    }
    CHECK(attention.run_too_far() == Status::ExtentOutOfRange);
    (void)ops::take_messages();
  });
}

TEST_CASE("onnx: a memory of the same shape is replaced by each run", "[onnx][state]") {
  Proto graph;
  graph.message(11, value_proto("x", ElementType::F32, {"batch", "4"}))
      .message(11, value_proto("before", ElementType::F32, {"agents", "4"}));
  graph.message(12, value_proto("was", ElementType::F32, {"batch", "4"}))
      .message(12, value_proto("after", ElementType::F32, {"batch", "4"}));
  graph.message(11, value_proto("count", ElementType::I64, {}))
      .message(12, value_proto("counted", ElementType::I64, {}))
      .message(5, integers_proto("one", {}, {1}));
  graph.message(1, node_proto("one more", "Add", {"count", "one"}, {"counted"}));
  graph.message(1, node_proto("sum", "Add", {"x", "before"}, {"sum"}))
      .message(1, node_proto("half", "Relu", {"sum"}, {"after"}))
      .message(1, node_proto("same", "Identity", {"before"}, {"was"}));
  const OnnxState pairs[] = {{"before", "after"}, {"count", "counted"}};
  const auto file = imported(model_proto(graph), {.largest = 5, .states = pairs});
  INFO(file->messages.text);
  REQUIRE(file->status == Status::Ok);
  CHECK(file->model.states().empty());
  Plan plan = compiled(open_cpu(), file->graph);
  const State state = state_of(plan);
  std::vector<float> memory(12, 0.0f), was(12);
  for (uint32_t i = 0; i < 4; ++i) {
    const std::vector<float> x = pattern(12, i + 1);
    REQUIRE(plan.run({{"x", x}, {"was", was}}, {{"batch", 3}}, {.state = state}) == Status::Ok);
    CHECK(was == memory);
    for (size_t k = 0; k < 12; ++k) memory[k] = std::max(0.0f, memory[k] + x[k]);
  }
  int32_t count = 0;
  REQUIRE(state.read("count", std::as_writable_bytes(std::span(&count, 1))) == Status::Ok);
  CHECK(count == 4);
}

TEST_CASE("onnx: what the host wrote into a state stays there", "[onnx][state]") {
  Proto graph;
  graph.message(11, value_proto("x", ElementType::F32, {"n", "4"}))
      .message(11, value_proto("kept", ElementType::F32, {"4"}))
      .message(12, value_proto("y", ElementType::F32, {"n", "4"}));
  graph.message(1, node_proto("sum", "Add", {"x", "kept"}, {"y"}));
  const OnnxState pairs[] = {{"kept", ""}};
  const auto file = imported(model_proto(graph), {.largest = 5, .states = pairs});
  INFO(file->messages.text);
  REQUIRE(file->status == Status::Ok);
  Plan plan = compiled(open_cpu(), file->graph);
  State state = state_of(plan);
  const std::vector<float> kept = {1, 2, 3, 4}, x(8, 0.5f);
  std::vector<float> y(8);
  REQUIRE(state.write("kept", std::as_bytes(std::span(kept))) == Status::Ok);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(plan.run({{"x", x}, {"y", y}}, {{"n", 2}}, {.state = state}) == Status::Ok);
    CHECK(y == std::vector<float>{1.5f, 2.5f, 3.5f, 4.5f, 1.5f, 2.5f, 3.5f, 4.5f});
  }
}

TEST_CASE("hostile: changed ONNX models get states, or are refused", "[hostile][onnx]") {
  const std::string models[] = {decoder_model().bytes(), attention_model().bytes()};
  int64_t taken = 0;
  const int64_t cases = hostile_cases("states of ONNX models", 2000,
                                      [&](ops::Random& r) { taken += builds_changed(models[r.coin()], r, true); });
  tell_sound(taken, cases);
}

TEST_CASE("onnx: what cannot be a state is named", "[onnx][state]") {
  const auto refuses = [](std::initializer_list<Proto> nodes, const OnnxState& pair, Status status, const char* said) {
    Proto graph;
    graph.message(11, value_proto("x", ElementType::F32, {"n", "4"}))
        .message(11, value_proto("past", ElementType::F32, {"before", "4"}))
        .message(11, value_proto("fixed", ElementType::F32, {"6", "4"}));
    graph.message(12, value_proto("present", ElementType::F32, {"m", "4"}));
    for (const Proto& node : nodes) graph.message(1, node);
    const OnnxState pairs[] = {pair};
    const auto file = imported(model_proto(graph), {.largest = 8, .states = pairs});
    INFO(said);
    CHECK(file->messages.count() == 1);
    file->messages.refused(file->status, status, said);
  };
  const auto join = [](std::string_view past, std::string_view to) {
    return with(node_proto("join", "Concat", {past, "x"}, {to}), "axis", 0);
  };
  refuses({join("past", "present")}, {"pasta", "present"}, Status::InvalidArgument,
          "'pasta' and 'present' cannot be a state: they must be an input and an output");
  refuses({join("past", "t"), node_proto("relu", "Relu", {"past"}, {"present"})}, {"past", "present"},
          Status::Unsupported, "node 'relu' (Relu): 'past' stays in a State");
  refuses({join("past", "t"), node_proto("relu", "Relu", {"t"}, {"present"})}, {"past", "present"}, Status::Unsupported,
          "'past' and 'present' cannot be a state: the output is not the input with what comes behind it");
  refuses({join("past", "t"), join("past", "present")}, {"past", "present"}, Status::Unsupported,
          "node 'join' (Concat): 'past' stays in a State, and grows once, along axis 0");
  refuses({join("fixed", "present")}, {"fixed", "present"}, Status::Unsupported, "it always has 6 rows, and grows");
  refuses({with(node_proto("double", "Concat", {"x", "past"}, {"present"}), "axis", 0)}, {"past", "present"},
          Status::Unsupported, "the output has another shape or type");
  const OnnxState twice[] = {{"past", "present"}, {"fixed", "present"}};
  Proto graph;
  graph.message(11, value_proto("past", ElementType::F32, {"4"}))
      .message(11, value_proto("fixed", ElementType::F32, {"4"}))
      .message(12, value_proto("present", ElementType::F32, {"4"}));
  graph.message(1, node_proto("sum", "Add", {"past", "fixed"}, {"present"}));
  const auto file = imported(model_proto(graph), {.states = twice});
  file->messages.refused(file->status, Status::InvalidArgument, "one of them is one already");
}
