// Networks in ONNX files.
#include <heed/onnx.hpp>

#include "c/graph_object.hpp"

namespace heed::c {
namespace {

// An input or output with C strings.
struct Port {
  explicit Port(const OnnxTensor& tensor) : from(&tensor) {
    for (const OnnxDim& dim : tensor.dims) {
      symbols.push_back(dim.symbol.c_str());
      dims.push_back(dim.symbol.empty() ? dim.size : 0);
    }
  }
  heed_onnx_tensor read() const {
    heed_onnx_tensor to = {};
    to.name = from->name.c_str();
    to.symbols = symbols.data();
    to.dims = dims.data();
    to.rank = dims.size();
    to.dtype = to_c(from->dtype);
    return to;
  }

  const OnnxTensor* from;
  std::vector<const char*> symbols;
  std::vector<int64_t> dims;
};

struct OnnxModel {
  using Handle = heed_onnx_model;
  static constexpr Kind kKind = Kind::OnnxModel;
  explicit OnnxModel(const heed_log* log) : host(std::make_shared<Host>(log)) {}

  void take() {
    for (const OnnxTensor& input : it.inputs()) inputs.emplace_back(input);
    for (const OnnxTensor& output : it.outputs()) outputs.emplace_back(output);
    // These views cover whole strings, which end with a zero.
    for (const OnnxState& state : it.states()) states.push_back({state.past.data(), state.present.data()});
  }

  std::shared_ptr<Host> host;
  heed::OnnxModel it;
  std::vector<Port> inputs, outputs;
  std::vector<heed_onnx_state> states;
};

// The caller's options.
class Options {
 public:
  Options(Call& call, const heed_onnx_options* options) {
    const Given<heed_onnx_options> given(call, options, "heed_onnx_options");
    for (const heed_onnx_extent& extent : call.array(given->extents, given->extent_count, "extents"))
      extents_.push_back({call.text(extent.symbol, "the symbol of an extent"), extent.largest});
    for (const heed_onnx_state& state : call.array(given->states, given->state_count, "states"))
      states_.push_back(
          {call.text(state.past, "the past of a state"), call.text(state.present, "the present of a state")});
    largest_ = given->largest;
  }
  OnnxOptions read() const { return {.extents = extents_, .largest = largest_, .states = states_}; }

 private:
  std::vector<OnnxExtent> extents_;
  std::vector<OnnxState> states_;
  int64_t largest_ = 0;
};

size_t count_of(const char* function, heed_onnx_model* handle, std::vector<Port> OnnxModel::* ports) {
  Call call(function);
  const Pin<OnnxModel> model(call, handle);
  return model ? (model.get()->*ports).size() : 0;
}

heed_status read_port(const char* function, heed_onnx_model* handle, std::vector<Port> OnnxModel::* ports, size_t index,
                      heed_onnx_tensor* to) {
  Call call(function);
  const Pin<OnnxModel> model(call, handle);
  Wanted<heed_onnx_tensor> wanted(call, to, "tensor");
  if (call.failed()) return call.status();
  const std::vector<Port>& all = model.get()->*ports;
  if (call.has_index(index, all.size())) wanted.set(all[index].read());
  return call.status();
}

heed_status give_model(Call& call, std::unique_ptr<OnnxModel> made, heed_onnx_model** model) {
  if (!call.failed()) made->take();
  return give(call, std::move(made), model);
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_onnx_model_open(const char* path, const heed_log* log, heed_onnx_model** model) {
  Call call(__func__);
  if (!has_place(call, model, "model")) return call.status();
  const std::string_view from = call.text(path, "path");
  if (call.failed()) return call.status();
  auto made = std::make_unique<OnnxModel>(log);
  call.end(heed::OnnxModel::open(from, made->host->log(), &made->it), made->host.get());
  return give_model(call, std::move(made), model);
}

heed_status heed_onnx_model_parse(const void* data, size_t bytes, const char* name, const heed_log* log,
                                  heed_onnx_model** model) {
  Call call(__func__);
  if (!has_place(call, model, "model") || !call.has_array(data, bytes, "data")) return call.status();
  auto made = std::make_unique<OnnxModel>(log);
  call.end(heed::OnnxModel::parse({static_cast<const std::byte*>(data), bytes}, call.text_or(name, "the bytes"),
                                  made->host->log(), &made->it),
           made->host.get());
  return give_model(call, std::move(made), model);
}

heed_status heed_onnx_model_destroy(heed_onnx_model* model) { return destroy<OnnxModel>(__func__, model); }

size_t heed_onnx_model_input_count(heed_onnx_model* model) { return count_of(__func__, model, &OnnxModel::inputs); }
heed_status heed_onnx_model_input(heed_onnx_model* model, size_t index, heed_onnx_tensor* input) {
  return read_port(__func__, model, &OnnxModel::inputs, index, input);
}
size_t heed_onnx_model_output_count(heed_onnx_model* model) { return count_of(__func__, model, &OnnxModel::outputs); }
heed_status heed_onnx_model_output(heed_onnx_model* model, size_t index, heed_onnx_tensor* output) {
  return read_port(__func__, model, &OnnxModel::outputs, index, output);
}

size_t heed_onnx_model_operator_count(heed_onnx_model* handle) {
  Call call(__func__);
  const Pin<OnnxModel> model(call, handle);
  return model ? model->it.operators().size() : 0;
}
heed_status heed_onnx_model_operator(heed_onnx_model* handle, size_t index, heed_onnx_operator* found) {
  Call call(__func__);
  const Pin<OnnxModel> model(call, handle);
  Wanted<heed_onnx_operator> wanted(call, found, "operator");
  if (call.failed() || !call.has_index(index, model->it.operators().size())) return call.status();
  const auto& [name, count] = model->it.operators()[index];
  wanted.set({0, name.c_str(), count});
  return call.status();
}

heed_status heed_onnx_model_states(heed_onnx_model* handle, heed_onnx_state* states, size_t capacity, size_t* count) {
  Call call(__func__);
  const Pin<OnnxModel> model(call, handle);
  if (call.failed()) return call.status();
  return fill(call, std::span<const heed_onnx_state>(model->states), states, capacity, count);
}

heed_status heed_onnx_model_build(heed_onnx_model* handle, const heed_onnx_options* options, heed_graph** graph) {
  Call call(__func__);
  if (!has_place(call, graph, "graph")) return call.status();
  const Pin<OnnxModel> model(call, handle);
  const Options wanted(call, options);
  if (call.failed()) return call.status();
  auto made = std::make_unique<Graph>();
  call.end(model->it.build(wanted.read(), model->host->log(), &made->it), model->host.get());
  return give(call, std::move(made), graph);
}

heed_status heed_onnx_model_add(heed_onnx_model* handle, heed_graph* graph, const heed_onnx_input* inputs,
                                size_t input_count, const heed_onnx_options* options, heed_tensor* outputs,
                                size_t capacity) {
  Building on(__func__, graph, Building::Effect::Changes);
  Call& call = on.call();
  const Pin<OnnxModel> model(call, handle);
  const Options wanted(call, options);
  if (!model || call.failed()) return call.status();
  if (model->outputs.size() > capacity) {
    call.fails_into(nullptr);
    return call.fail(HEED_BUFFER_TOO_SMALL,
                     heed::format("there are %zu outputs, and room for %zu", model->outputs.size(), capacity));
  }
  std::vector<heed::OnnxInput> given;
  for (const heed_onnx_input& input : call.array(inputs, input_count, "inputs"))
    given.push_back({call.text(input.name, "the name of an input"), on.tensor(input.tensor, "an input")});
  if (!on || call.failed()) return on.end();
  std::vector<heed::Tensor> made;
  if (call.end(model->it.add(&on.graph().it, given, wanted.read(), model->host->log(), &made), model->host.get()) !=
      HEED_OK)
    return call.status();
  for (size_t i = 0; i < made.size(); ++i) outputs[i] = on.name(made[i]);
  return on.end();
}

heed_status heed_onnx_model_upload(heed_onnx_model* handle, heed_device* device_handle, heed_graph* graph_handle,
                                   heed_weights** weights) {
  Call call(__func__);
  if (!has_place(call, weights, "weights")) return call.status();
  const Pin<OnnxModel> model(call, handle);
  const Pin<Device> device(call, device_handle);
  const Pin<Graph> graph(call, graph_handle);
  if (call.failed()) return call.status();
  auto made = std::make_unique<Weights>();
  made->host = device->host;
  heed::Device on = device->get();
  call.end(model->it.upload(on, graph->it, model->host->log(), &made->it), device->host.get());
  return give(call, std::move(made), weights);
}

heed_status heed_onnx_model_find_extents(heed_onnx_model* handle, heed_graph* graph_handle,
                                         const heed_onnx_shape* shapes, size_t shape_count, heed_extent_value* extents,
                                         size_t capacity, size_t* count) {
  Call call(__func__);
  const Pin<OnnxModel> model(call, handle);
  const Pin<Graph> graph(call, graph_handle);
  std::vector<heed::OnnxShape> given;
  for (const heed_onnx_shape& shape : call.array(shapes, shape_count, "shapes"))
    given.push_back({call.text(shape.name, "the name of a shape"), call.array(shape.dims, shape.rank, "dims")});
  if (call.failed()) return call.status();
  std::vector<heed::ExtentValue> found;
  if (call.end(model->it.find_extents(graph->it, given, model->host->log(), &found), model->host.get()) != HEED_OK)
    return call.status();
  std::vector<heed_extent_value> values;
  for (const heed::ExtentValue& extent : found) values.push_back({extent.name.data(), extent.value});
  return fill(call, std::span<const heed_extent_value>(values), extents, capacity, count);
}
