// ONNX models through the C interface, compared with C++.
#include "c/host_in_c.hpp"
#include "c/kept.hpp"
#include "onnx/imported.hpp"

using namespace heed;
using namespace heed::test;

namespace {

using KeptOnnx = Kept<heed_onnx_model, heed_onnx_model_destroy>;

// y = relu(x w) [batch, 2], and a cache to which x is added.
std::string model_bytes() {
  Proto graph;
  graph.message(11, value_proto("x", ElementType::F32, {"batch", "3"}))
      .message(11, value_proto("past_0", ElementType::F32, {"past", "3"}));
  graph.message(12, value_proto("y", ElementType::F32, {"batch", "2"}))
      .message(12, value_proto("present_0", ElementType::F32, {"all", "3"}));
  graph.message(5, floats_proto("w", {3, 2}, {1, -1, 2, -2, 3, -3}));
  graph.message(1, node_proto("product", "MatMul", {"x", "w"}, {"h"}))
      .message(1, node_proto("relu", "Relu", {"h"}, {"y"}))
      .message(1, with(node_proto("join", "Concat", {"past_0", "x"}, {"present_0"}), "axis", 0));
  return model_proto(graph).bytes();
}

}  // namespace

TEST_CASE("c: an ONNX model tells what it holds, and runs with a State", "[c][onnx]") {
  const std::string bytes = model_bytes();
  KeptOnnx model(heed_onnx_model_parse, bytes.data(), bytes.size(), nullptr, nullptr);
  REQUIRE((heed_onnx_model_input_count(model) == 2 && heed_onnx_model_output_count(model) == 2));
  auto x = sized<heed_onnx_tensor>(), y = sized<heed_onnx_tensor>();
  done(heed_onnx_model_input(model, 0, &x));
  done(heed_onnx_model_output(model, 0, &y));
  CHECK((std::string(x.name) == "x" && x.rank == 2 && x.dtype == HEED_F32));
  CHECK((std::string(x.symbols[0]) == "batch" && std::string(x.symbols[1]).empty() && x.dims[1] == 3));
  CHECK(std::string(y.name) == "y");
  REQUIRE(heed_onnx_model_operator_count(model) == 3);
  auto op = sized<heed_onnx_operator>();
  done(heed_onnx_model_operator(model, 1, &op));
  CHECK((std::string(op.name) == "MatMul" && op.count == 1));
  heed_onnx_state pair = {};
  size_t count = 0;
  done(heed_onnx_model_states(model, &pair, 1, &count));
  REQUIRE((count == 1 && std::string(pair.past) == "past_0" && std::string(pair.present) == "present_0"));

  auto options = sized<heed_onnx_options>();
  const heed_onnx_extent extents[] = {{"batch", 4}};
  options.extents = extents;
  options.extent_count = 1;
  options.largest = 8;
  options.states = &pair;
  options.state_count = 1;
  KeptGraph graph(heed_onnx_model_build, model, &options);
  CHECK((heed_graph_named_count(graph, HEED_GRAPH_INPUTS) == 1 &&
         heed_graph_named_count(graph, HEED_GRAPH_OUTPUTS) == 1 &&
         heed_graph_named_count(graph, HEED_GRAPH_STATES) == 1 && heed_graph_named_count(graph, 3) == 0));
  const char* name = nullptr;
  heed_tensor tensor = 0;
  done(heed_graph_get_named(graph, HEED_GRAPH_STATES, 0, &name, &tensor));
  heed_dim shape[HEED_MAX_RANK] = {};
  done(heed_graph_shape(graph, tensor, shape, HEED_MAX_RANK, &count));
  CHECK((std::string(name) == "past_0" && count == 2 && shape[0] == 12 && shape[1] == 3));
  REQUIRE(heed_graph_extent_count(graph) == 2);
  heed_dim dim = 0;
  int64_t most = 0;
  done(heed_graph_get_extent(graph, 0, &name, &dim));
  done(heed_graph_dim_max(graph, dim, &most));
  CHECK((std::string(name) == "batch" && most == 4));

  KeptDevice device = open_c("cpu");
  KeptWeights weights(heed_onnx_model_upload, model, device, graph);
  KeptPlan plan(heed_device_compile, device, graph, weights, nullptr);
  KeptState state(heed_plan_make_state, plan);
  const float seen[] = {1, 0, 0, 0, 1, 1};
  float made[4] = {};
  const int64_t of_x[] = {2, 3}, of_past[] = {5, 3};
  const heed_onnx_shape shapes[] = {{"x", of_x, 2}, {"past_0", of_past, 2}};
  heed_extent_value values[2] = {};
  done(heed_onnx_model_find_extents(model, graph, shapes, 2, values, 2, &count));
  CHECK((count == 2 && values[0].value == 2 && values[1].value == 5));
  const heed_input inputs[] = {{"x", seen, sizeof seen, HEED_F32, 0}};
  const heed_output outputs[] = {{"y", made, sizeof made, HEED_F32, 0}};
  heed_run_info info = run_info(inputs, outputs, state);
  info.extents = values;
  info.extent_count = count;
  done(heed_plan_run(plan, &info));
  CHECK((made[0] == 1 && made[1] == 0 && made[2] == 5 && made[3] == 0));
  float kept[36] = {};
  done(heed_state_read(state, "past_0", nullptr, kept, sizeof kept));
  CHECK((kept[14] == 0 && kept[15] == 1 && kept[20] == 1 && kept[21] == 0));
}

TEST_CASE("c: an ONNX model is a part of a graph", "[c][onnx]") {
  const std::string bytes = model_bytes();
  KeptOnnx model(heed_onnx_model_parse, bytes.data(), bytes.size(), nullptr, nullptr);
  KeptGraph graph(heed_graph_create);
  const heed_dim shape[] = {2, 3};
  const heed_tensor x = heed_graph_input(graph, "seen", shape, 2, HEED_F32);
  const heed_onnx_input given[] = {{"x", heed_graph_scale(graph, x, 2.0f)}}, wrong[] = {{"z", x}};
  auto options = sized<heed_onnx_options>();
  options.largest = 8;
  heed_tensor made[2] = {};
  refused(heed_onnx_model_add(model, graph, given, 1, &options, made, 1), HEED_BUFFER_TOO_SMALL, "2 outputs");
  done(heed_onnx_model_add(model, graph, given, 1, &options, made, 2));
  CHECK((made[0] != 0 && made[1] != 0 && heed_graph_named_count(graph, HEED_GRAPH_INPUTS) == 2));
  refused(heed_onnx_model_add(model, graph, wrong, 1, &options, made, 2), HEED_INVALID_ARGUMENT, "no input 'z'");
  done(heed_graph_roll_back(graph));
  done(heed_graph_output(graph, "y", made[0]));
  KeptDevice device = open_c("cpu");
  KeptWeights weights(heed_onnx_model_upload, model, device, graph);
  KeptPlan plan(heed_device_compile, device, graph, weights, nullptr);
  const float seen[] = {1, 0, 0, 0, 1, 1}, past[24] = {};
  float found[4] = {};
  const heed_input inputs[] = {{"seen", seen, sizeof seen, HEED_F32, 0}, {"past_0", past, sizeof past, HEED_F32, 0}};
  const heed_output outputs[] = {{"y", found, sizeof found, HEED_F32, 0}};
  heed_run_info info = run_info(inputs, outputs);
  const heed_extent_value rows = {"past", 8};
  info.extents = &rows;
  info.extent_count = 1;
  done(heed_plan_run(plan, &info));
  CHECK((found[0] == 2 && found[1] == 0 && found[2] == 10 && found[3] == 0));
}

TEST_CASE("c: what is wrong with an ONNX model or its arguments is said", "[c][onnx]") {
  const std::string bytes = model_bytes();
  KeptOnnx model(heed_onnx_model_parse, bytes.data(), bytes.size(), "policy", nullptr);
  heed_onnx_model* none = model;
  refused(heed_onnx_model_open("/nonexistent.onnx", nullptr, &none), HEED_NOT_FOUND, "nonexistent");
  CHECK(none == nullptr);
  refused(heed_onnx_model_open(nullptr, nullptr, &none), HEED_INVALID_ARGUMENT, "path is NULL");
  refused(heed_onnx_model_parse(bytes.data(), 9, nullptr, nullptr, &none), HEED_INVALID_FILE, "the bytes");
  auto tensor = sized<heed_onnx_tensor>();
  refused(heed_onnx_model_input(model, 2, &tensor), HEED_INDEX_OUT_OF_RANGE, "2");
  heed_graph* graph = nullptr;
  auto options = sized<heed_onnx_options>();
  refused(heed_onnx_model_build(model, &options, &graph), HEED_INVALID_ARGUMENT, "policy: the largest size of 'batch'");
  options.largest = 3;
  const heed_onnx_state wrong = {"x", "z"};
  options.states = &wrong;
  options.state_count = 1;
  refused(heed_onnx_model_build(model, &options, &graph), HEED_INVALID_ARGUMENT, "'x' and 'z' cannot be a state");
  options.states = nullptr;
  refused(heed_onnx_model_build(model, &options, &graph), HEED_INVALID_ARGUMENT, "states is NULL");
  options.state_count = 0;
  KeptGraph made(heed_onnx_model_build, model, &options);
  const int64_t dims[] = {2};
  const heed_onnx_shape shape = {"x", dims, 1};
  size_t count = 0;
  refused(heed_onnx_model_find_extents(model, made, &shape, 1, nullptr, 0, &count), HEED_SHAPE_MISMATCH,
          "input 'x' has 1 dims; it must have 2");
  const char* name = nullptr;
  heed_tensor found = 0;
  refused(heed_graph_get_named(made, 7, 0, &name, &found), HEED_INVALID_ARGUMENT, "7");
  refused(heed_graph_get_named(made, HEED_GRAPH_OUTPUTS, 2, &name, &found), HEED_INDEX_OUT_OF_RANGE, "2");
}
