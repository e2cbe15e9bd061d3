// Optimizers: declared weights, calls on graphs, and calls on states.
#include <heed/optimizer.hpp>

#include "c/checkpoint.hpp"
#include "c/generated/options.hpp"
#include "c/graph_object.hpp"

namespace heed::c {
namespace {

struct Optimizer {
  using Handle = heed_optimizer;
  static constexpr Kind kKind = Kind::Optimizer;
  explicit Optimizer(train::OptimizerOptions options) : it(std::move(options)) {}

  train::Optimizer it;
  Turn turn;
  bool take_turn() { return turn.take(); }
  void give_turn() { turn.give_back(); }
};

// Calls change(optimizer, state, log).
template <class Change>
heed_status with_state(Call& call, heed_optimizer* handle, heed_state* state_handle, const Change& change) {
  const Pin<Optimizer> optimizer(call, handle);
  const Pin<State> state(call, state_handle);
  if (call.failed()) return call.status();
  heed::State it = state->it;
  return call.end(change(optimizer->it, it, state->host->log()), state->host.get());
}

// Adds what make(optimizer, graph) returns to a graph.
template <class Make>
heed_tensor add_with(const char* function, heed_optimizer* handle, heed_graph* graph, const Make& make) {
  Building on(function, graph, Building::Effect::Changes);
  const Pin<Optimizer> optimizer(on.call(), handle);
  if (!optimizer) return 0;
  return on.add([&](heed::Graph& g) { return make(on, optimizer->it, g); });
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_optimizer_create(const heed_optimizer_options* options, heed_optimizer** optimizer) {
  Call call(__func__);
  if (!has_place(call, optimizer, "optimizer")) return call.status();
  heed::train::OptimizerOptions wanted = read(call, options);
  return give(call, std::make_unique<Optimizer>(std::move(wanted)), optimizer);
}

heed_status heed_optimizer_destroy(heed_optimizer* optimizer) { return destroy<Optimizer>(__func__, optimizer); }

// --- Weights ---------------------------------------------------------------------------------------------------

heed_status heed_optimizer_add(heed_optimizer* handle, const char* name, const int64_t* shape, size_t rank,
                               int32_t group) {
  Call call(__func__);
  const Pin<Optimizer> optimizer(call, handle);
  const std::string_view weight = call.text(name, "name");
  if (!call.has_array(shape, rank, "the shape") || call.failed()) return call.status();
  if (rank > static_cast<size_t>(heed::kMaxRank) ||
      optimizer->it.add(weight, std::span(shape, rank), group) != heed::Status::Ok)
    return call.fail(HEED_INVALID_ARGUMENT,
                     heed::format("'%s' was declared before, its shape has no elements or too many, or its group %d is "
                                  "not one of 0 to %d",
                                  name, group, heed::train::Optimizer::kMostGroups - 1));
  return call.status();
}

heed_status heed_optimizer_add_weights(heed_optimizer* handle, heed_graph* graph_handle) {
  Call call(__func__);
  const Pin<Optimizer> optimizer(call, handle);
  const Pin<Graph> graph(call, graph_handle);
  if (call.failed()) return call.status();
  if (optimizer->it.add_weights(graph->it) != heed::Status::Ok)
    return call.fail(HEED_INVALID_ARGUMENT, "a weight of the graph was declared before, or has too many elements");
  return call.status();
}

size_t heed_optimizer_count(heed_optimizer* handle) {
  Call call(__func__);
  const Pin<Optimizer> optimizer(call, handle);
  return optimizer ? optimizer->it.parameters().size() : 0;
}

heed_status heed_optimizer_parameter(heed_optimizer* handle, size_t index, heed_parameter* parameter) {
  Call call(__func__);
  const Pin<Optimizer> optimizer(call, handle);
  Wanted<heed_parameter> wanted(call, parameter, "parameter");
  if (call.failed() || !call.has_index(index, optimizer->it.parameters().size())) return call.status();
  const heed::train::Optimizer::Parameter& from = optimizer->it.parameters()[index];
  heed_parameter to = {};
  to.name = from.name.c_str();
  to.shape = from.shape.data();
  to.rank = from.shape.size();
  to.group = from.group;
  wanted.set(to);
  return call.status();
}

size_t heed_optimizer_group_count(heed_optimizer* handle) {
  Call call(__func__);
  const Pin<Optimizer> optimizer(call, handle);
  return optimizer ? static_cast<size_t>(optimizer->it.groups()) : 0;
}

// --- Graphs ----------------------------------------------------------------------------------------------------

heed_status heed_optimizer_keep(heed_optimizer* handle, heed_graph* graph) {
  Building on(__func__, graph, Building::Effect::Changes);
  const Pin<Optimizer> optimizer(on.call(), handle);
  if (on && optimizer) optimizer->it.keep(on.graph().it);
  return on.end();
}

heed_status heed_optimizer_weights(heed_optimizer* handle, heed_graph* graph, heed_tensor* weights, size_t capacity,
                                   size_t* count) {
  Building on(__func__, graph);
  const Pin<Optimizer> optimizer(on.call(), handle);
  if (!on || !optimizer) return on.end();
  std::vector<heed_tensor> names(optimizer->it.parameters().size());
  if (names.size() <= capacity) {
    const std::vector<heed::Tensor> found = optimizer->it.weights(on.graph().it);
    if (!on) return on.end();
    for (size_t i = 0; i < names.size(); ++i) names[i] = on.graph().name(found[i]);
  }
  on.call().fails_into(nullptr);  // an array that is too small is not a mistake of the graph
  return fill(on.call(), std::span<const heed_tensor>(names), weights, capacity, count);
}

heed_tensor heed_optimizer_settings(heed_optimizer* optimizer, heed_graph* graph) {
  return add_with(__func__, optimizer, graph,
                  [](Building&, const heed::train::Optimizer& it, heed::Graph& g) { return it.settings(g); });
}

heed_tensor heed_optimizer_loss_scale(heed_optimizer* optimizer, heed_graph* graph, heed_tensor settings) {
  return add_with(__func__, optimizer, graph, [&](Building& on, const heed::train::Optimizer& it, heed::Graph& g) {
    return it.loss_scale(g, on.tensor(settings, "settings"));
  });
}

heed_tensor heed_optimizer_step(heed_optimizer* optimizer, heed_graph* graph, const heed_tensor* gradients,
                                size_t gradient_count, heed_tensor settings) {
  return add_with(__func__, optimizer, graph, [&](Building& on, const heed::train::Optimizer& it, heed::Graph& g) {
    std::vector<heed::Tensor> all;
    if (!on.call().has_array(gradients, gradient_count, "gradients")) return heed::Tensor{};
    for (size_t i = 0; i < gradient_count && on; ++i) all.push_back(on.tensor(gradients[i], "a gradient"));
    const heed::Tensor from = on.tensor(settings, "settings");
    return on ? it.step(g, all, from) : heed::Tensor{};
  });
}

// --- States ----------------------------------------------------------------------------------------------------

heed_status heed_optimizer_load(heed_optimizer* optimizer, heed_state* state, const heed_host_tensor* tensors,
                                size_t count) {
  Call call(__func__);
  const std::vector<heed::HostTensor> all = tensors_of(call, tensors, count);
  return with_state(
      call, optimizer, state,
      [&](const heed::train::Optimizer& it, heed::State& to, const heed::Log& log) { return it.load(to, all, log); });
}

heed_status heed_optimizer_load_checkpoint(heed_optimizer* optimizer, heed_state* state, heed_checkpoint* handle) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  return with_state(call, optimizer, state,
                    [&](const heed::train::Optimizer& it, heed::State& to, const heed::Log& log) {
                      return it.load(to, checkpoint->host_tensors(), log);
                    });
}

heed_status heed_optimizer_save(heed_optimizer* optimizer, heed_state* state, const char* path) {
  Call call(__func__);
  const std::string_view file = call.text(path, "path");
  return with_state(call, optimizer, state,
                    [&](const heed::train::Optimizer& it, const heed::State& from, const heed::Log& log) {
                      return it.save(from, file, log);
                    });
}

heed_status heed_optimizer_read(heed_optimizer* optimizer, heed_state* state, const char* name, float* values,
                                size_t count) {
  Call call(__func__);
  const std::string_view weight = call.text(name, "name");
  call.has_array(values, count, "values");
  return with_state(call, optimizer, state,
                    [&](const heed::train::Optimizer& it, const heed::State& from, const heed::Log&) {
                      const heed::Status status = it.read(from, weight, std::span(values, count));
                      if (status == heed::Status::NotFound)
                        call.fail(HEED_NOT_FOUND, heed::format("there is no weight '%s'", name));
                      if (status == heed::Status::ShapeMismatch)
                        call.fail(HEED_SHAPE_MISMATCH, heed::format("'%s' has not %zu elements", name, count));
                      return status;
                    });
}
