// The host's own passes.
#include <array>
#include <thread>

#include <heed/custom.hpp>

#include "c/graph_object.hpp"

namespace heed::c {
namespace {

heed_custom_buffer read(const CustomBuffer& from) {
  return {from.data, from.bytes, from.shape.data(), from.shape.size(), to_c(from.dtype), 0};
}

// Adapts the host's function to the engine; the adapter lives as long as the graph and its plans.
void run_adapted(void* user, const CustomCall& call) {
  const auto* adapter = static_cast<const CustomAdapter*>(user);
  std::array<heed_custom_buffer, kMaxCustomBindings> inputs{}, outputs{};
  for (size_t i = 0; i < call.inputs.size(); ++i) inputs[i] = read(call.inputs[i]);
  for (size_t i = 0; i < call.outputs.size(); ++i) outputs[i] = read(call.outputs[i]);
  const heed_custom_call c = {inputs.data(),       call.inputs.size(), outputs.data(),
                              call.outputs.size(), call.push.data(),   call.push.size()};
  adapter->run(adapter->user, &c);
}

// The graph for which this thread is computing gradients.
struct Lent {
  Graph* graph = nullptr;
  heed_graph* handle = nullptr;
};
thread_local constinit Lent lent;

// Calls the host's function. It adds to the graph through the handle, and each of its calls takes the graph's turn, so the turn is given
// back meanwhile.
void build_adapted(void* user, heed::Graph& g, const CustomGradientCall& call) {
  const auto* adapter = static_cast<const CustomAdapter*>(user);
  Graph& graph = *lent.graph;
  std::array<heed_tensor, kMaxCustomBindings> inputs{}, outputs{}, upstream{}, gradients{};
  std::array<int32_t, kMaxCustomBindings> wanted{};
  for (size_t i = 0; i < call.inputs.size(); ++i) inputs[i] = graph.name(call.inputs[i]);
  for (size_t i = 0; i < call.inputs.size(); ++i) wanted[i] = call.wanted[i];
  for (size_t i = 0; i < call.outputs.size(); ++i) outputs[i] = graph.name(call.outputs[i]);
  for (size_t i = 0; i < call.outputs.size(); ++i) upstream[i] = graph.name(call.upstream[i]);
  const heed_custom_gradient_call c = {inputs.data(),       call.inputs.size(), outputs.data(),  upstream.data(),
                                       call.outputs.size(), wanted.data(),      gradients.data()};
  graph.give_turn();
  adapter->gradient(adapter->user, lent.handle, &c);
  // A call by another thread, which violates the contract, ends soon.
  while (!graph.take_turn()) std::this_thread::yield();
  for (size_t i = 0; i < call.inputs.size() && g.status() == Status::Ok; ++i)
    if (gradients[i] != 0 && !graph.find(gradients[i], &call.gradients[i]))
      g.fail(Status::InvalidArgument, format("gradient %zu of a custom pass is no tensor of its graph", i));
}

// A CustomPass, and the memory it points to.
struct PassOfHost {
  PassOfHost(Building& on, const Given<heed_custom_pass>& given);
  std::vector<CustomWord> push;
  std::vector<CustomOutput> outputs;
  CustomPass pass;
  std::shared_ptr<const CustomAdapter> adapter;
};

PassOfHost::PassOfHost(Building& on, const Given<heed_custom_pass>& given) {
  Call& call = on.call();
  pass.name = call.text(given->name, "the pass's name");
  pass.entry_point = call.text_or(given->entry_point, "main");
  if (call.has_array(given->spirv, given->spirv == nullptr ? 0 : given->spirv_words, "spirv") &&
      given->spirv != nullptr)
    pass.spirv = {given->spirv, given->spirv_words};
  if (call.has_array(given->constants, given->constant_count, "constants"))
    pass.constants = {given->constants, given->constant_count};
  if (given->push_count > kMaxCustomPushWords)
    call.fail(HEED_INVALID_ARGUMENT,
              format("%zu words of push constants; %u are the most", given->push_count, kMaxCustomPushWords));
  if (given->output_count > kMaxCustomOutputs)
    call.fail(HEED_INVALID_ARGUMENT, format("%zu outputs; %u are the most", given->output_count, kMaxCustomOutputs));
  if (!call.has_array(given->push, given->push_count, "push") ||
      !call.has_array(given->outputs, given->output_count, "the pass's outputs") || call.failed())
    return;
  for (size_t i = 0; i < given->push_count; ++i) {
    const heed_custom_word& word = given->push[i];
    push.emplace_back(word.is_size != 0 ? CustomWord(on.dim(word.dim)) : CustomWord(word.bits));
  }
  for (size_t i = 0; i < given->output_count; ++i) {
    const heed_custom_output& output = given->outputs[i];
    outputs.push_back({on.shape(output.shape, output.rank), call.dtype(output.dtype)});
  }
  for (size_t i = 0; given->groups != nullptr && i < pass.groups.size(); ++i) {
    const heed_custom_groups& groups = given->groups[i];
    pass.groups[i].sizes = on.shape(groups.sizes, groups.rank);
    if (groups.each != 0) pass.groups[i].each = groups.each;
  }
  pass.push = push;
  pass.outputs = outputs;
  pass.group_work = given->group_work;
  if (given->cpu == nullptr && given->gradient == nullptr) return;
  adapter = std::make_shared<const CustomAdapter>(CustomAdapter{given->cpu, given->gradient, given->user});
  if (given->cpu != nullptr) pass.cpu = {run_adapted, const_cast<CustomAdapter*>(adapter.get())};
  if (given->gradient != nullptr) pass.gradient = {build_adapted, const_cast<CustomAdapter*>(adapter.get())};
}

}  // namespace

Lending::Lending(Graph& graph, heed_graph* handle) : outer_graph_(lent.graph), outer_handle_(lent.handle) {
  lent = {&graph, handle};
}
Lending::~Lending() { lent = {outer_graph_, outer_handle_}; }

}  // namespace heed::c

using namespace heed::c;

heed_status heed_graph_custom(heed_graph* graph, const heed_custom_pass* pass, const heed_tensor* inputs,
                              size_t input_count, heed_tensor* outputs) {
  Building on(__func__, graph);
  const Given<heed_custom_pass> given(on.call(), pass, "the pass");
  on.call().has(pass, "pass");
  if (on.call().has_array(outputs, given->output_count, "outputs") && given->output_count <= heed::kMaxCustomOutputs)
    std::fill_n(outputs, given->output_count, heed_tensor{0});
  if (!on) return on.end();
  const PassOfHost made(on, given);
  std::vector<heed::Tensor> all;
  if (input_count > heed::kMaxCustomBindings)
    on.call().fail(HEED_INVALID_ARGUMENT,
                   heed::format("%zu inputs; %u are the most, with outputs", input_count, heed::kMaxCustomBindings));
  if (!on.call().has_array(inputs, input_count, "inputs") || !on) return on.end();
  for (size_t i = 0; i < input_count; ++i) all.push_back(on.tensor(inputs[i]));
  const heed::CustomResult result = on.graph().it.custom(made.pass, all);
  if (!on) return on.end();
  if (made.adapter != nullptr) on.graph().customs.push_back(made.adapter);
  for (size_t i = 0; i < given->output_count; ++i) outputs[i] = on.graph().name(result.outputs[i]);
  return on.end();
}
