// The host's own passes.
#include <heed/custom.hpp>

#include "c/graph_object.hpp"

namespace heed::c {
namespace {

void read(std::span<const CustomBuffer> from, std::vector<heed_custom_buffer>* to) {
  for (const CustomBuffer& buffer : from)
    to->push_back({buffer.data, buffer.bytes, buffer.shape.data(), buffer.shape.size(), to_c(buffer.dtype), 0});
}

void run(void* user, const CustomCall& call) {
  const auto& adapter = *static_cast<const CustomAdapter*>(user);
  std::vector<heed_custom_buffer> inputs, outputs;
  read(call.inputs, &inputs);
  read(call.outputs, &outputs);
  const heed_custom_call given = {inputs.data(),  inputs.size(),    outputs.data(),
                                  outputs.size(), call.push.data(), call.push.size()};
  adapter.run(adapter.user, &given);
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_graph_custom(heed_graph* graph, const heed_custom_pass* pass, const heed_tensor* inputs,
                              size_t input_count, heed_tensor* outputs) {
  Building b(__func__, graph);
  return b.act([&](heed::Graph& g) {
    Call& call = b.call();
    const Given<heed_custom_pass> from(call, pass, "the pass");
    if (!call.has(pass, "the pass") || !call.has(outputs, "outputs")) return;
    const bool has_arrays = call.has_array(from->spirv, from->spirv_words, "spirv") &&
                            call.has_array(from->constants, from->constant_count, "constants") &&
                            call.has_array(from->push, from->push_count, "push") &&
                            call.has_array(from->outputs, from->output_count, "the pass's outputs") &&
                            call.has_array(inputs, input_count, "inputs");
    if (!has_arrays) return;
    heed::CustomPass to;
    to.name = call.text(from->name, "the pass's name");
    to.spirv = {from->spirv, from->spirv_words};
    to.entry_point = call.text_or(from->entry_point, to.entry_point);
    to.constants = {from->constants, from->constant_count};
    std::vector<heed::CustomWord> push;
    for (size_t i = 0; i < from->push_count && !call.failed(); ++i) {
      const heed_custom_word& word = from->push[i];
      push.push_back(word.is_size != 0 ? heed::CustomWord(b.dim(word.dim)) : heed::CustomWord(word.bits));
    }
    to.push = push;
    for (size_t i = 0; from->groups != nullptr && i < to.groups.size(); ++i) {
      const heed_custom_groups& groups = from->groups[i];
      to.groups[i] = {b.shape(groups.sizes, groups.rank), groups.each != 0 ? groups.each : 1};
    }
    std::vector<heed::CustomOutput> made;
    for (size_t i = 0; i < from->output_count && !call.failed(); ++i) {
      const heed_custom_output& output = from->outputs[i];
      made.push_back({b.shape(output.shape, output.rank), call.dtype(output.dtype)});
    }
    to.outputs = made;
    to.group_work = from->group_work;
    if (from->cpu != nullptr) {
      auto adapter = std::make_shared<CustomAdapter>(CustomAdapter{from->cpu, from->user});
      to.cpu = {run, adapter.get()};
      b.object().customs.push_back(std::move(adapter));
    }
    std::vector<heed::Tensor> given;
    for (size_t i = 0; i < input_count && !call.failed(); ++i) given.push_back(b.in(inputs[i]));
    const heed::CustomResult result = g.custom(to, given);
    for (size_t i = 0; i < std::min(from->output_count, result.outputs.size()); ++i)
      outputs[i] = b.out(result.outputs[i]);
  });
}
