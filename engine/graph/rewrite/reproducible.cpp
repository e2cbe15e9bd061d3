// Restricts a plan to passes and types whose bits are the same on every device (CompileOptions::reproducible).
#include <algorithm>
#include <utility>

#include "base/logging.hpp"
#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"
#include "graph/schedule/schedule.hpp"

namespace heed {
namespace {

bool is_covered(DType dtype) { return dtype == DType::F32 || dtype == DType::I32 || dtype == DType::U8; }

bool is_narrow(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

bool is_copy(const Node& node) { return node.op == Op::Elementwise && node.as<ElementwiseAttrs>().copies_or_casts(); }
bool moves_bits(const Node& node) {
  if (!is_copy(node)) return info_of(node.op).moves_bits;
  return node.as<ElementwiseAttrs>().is_copy();
}

// Whether the node reads this input in type `from` for a result of type `to` without a cast: weights of matmuls, tables, and inputs of
// casts and moves may have fewer bits.
bool reads(const Node& node, size_t input, DType from, DType to) {
  if (is_covered(from)) return true;
  if (from == to && moves_bits(node)) return true;
  if (!is_covered(to)) return false;
  return is_copy(node) || info_of(node.op).inputs[input].narrow;
}
// Elementwise programs can include the casts that were added for them.
bool converts(const Node& node) { return node.op == Op::Elementwise; }
bool may_write_narrow(const Node& node) { return is_copy(node) || info_of(node.op).moves_bits; }

}  // namespace

Status check_reproducible(const Schedule& schedule, const Log& log) {
  for (const Node& node : schedule.passes) {
    if (!info_of(node.op).reproducible)
      return fail(log, Status::Unsupported,
                  format("compile: %s %s: reproducible plans cannot have this operation", to_string(node.op),
                         node.label.c_str()));
    const auto check = [&](Tensor tensor, bool fits) {
      if (!tensor.valid() || fits) return Status::Ok;
      return fail(log, Status::Unsupported,
                  format("compile: %s %s: reproducible plans cannot have %s here", to_string(node.op),
                         node.label.c_str(), to_string(schedule.info(tensor).dtype)));
    };
    const auto type = [&](Tensor tensor) { return tensor.valid() ? schedule.info(tensor).dtype : DType::F32; };
    Status status = Status::Ok;
    for (size_t i = 0; i < node.inputs.size() && status == Status::Ok; ++i)
      status = check(node.inputs[i], converts(node) || reads(node, i, type(node.inputs[i]), type(node.outputs[0])));
    for (size_t i = 0; i < node.outputs.size() && status == Status::Ok; ++i)
      status = check(node.outputs[i], converts(node) || is_covered(type(node.outputs[i])) || may_write_narrow(node));
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

namespace detail {
namespace {

class Widening {
 public:
  explicit Widening(GraphData* graph)
      : graph_(*graph),
        build_(*graph, "widen"),
        keeps_(graph->tensors.size(), false),
        widened_(graph->tensors.size(), Tensor{}) {}

  void run() {
    find_kept();
    std::vector<DType> of_outputs;
    for (const NamedTensor& output : graph_.outputs) of_outputs.push_back(type({output.tensor}));
    for (TensorInfo& tensor : graph_.tensors)
      if (is_narrow(tensor.dtype) && !keeps_[tensor.storage]) tensor.dtype = DType::F32;
    for (Node& node : std::exchange(graph_.nodes, {})) {
      if (node.op == Op::Place && type(node.inputs[in::kX]) != type(node.outputs[0]))
        add_place(std::move(node));
      else
        add(std::move(node));
    }
    for (size_t i = 0; i < of_outputs.size(); ++i)
      if (NamedTensor& output = graph_.outputs[i]; type({output.tensor}) != of_outputs[i])
        output.tensor = cast({output.tensor}, of_outputs[i], output.name + ".output").id;
  }

 private:
  DType type(Tensor t) const { return t.valid() ? graph_.tensors[t.id].dtype : DType::F32; }

  // Three kinds of tensors keep their types, all others become f32: those that the host sees, results of casts, and copies of both.
  void find_kept() {
    const auto keep = [&](uint32_t tensor) { keeps_[graph_.tensors[tensor].storage] = true; };
    for (const auto* list : {&graph_.inputs, &graph_.weights, &graph_.states})
      for (const NamedTensor& named : *list) keep(named.tensor);
    for (const ConstantInfo& constant : graph_.constants) keep(constant.tensor);
    for (const Node& node : graph_.nodes) {
      const Tensor from = node.inputs[0], to = node.outputs[0];
      const bool casts = is_copy(node) && type(from) != type(to);
      if (casts || (moves_bits(node) && keeps_[graph_.tensors[from.id].storage])) keep(to.id);
    }
  }

  void add(Node node) {
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (Tensor& input = node.inputs[i]; is_narrow(type(input)))
        if (!reads(node, i, type(input), type(node.outputs[0]))) input = widened(input, node.label);
    graph_.nodes.push_back(std::move(node));
  }

  // A pass that moves rows works in the type of the tensor that stays: the destination of a scatter, or the source of a gather.
  void add_place(Node node) {
    Tensor& x = node.inputs[in::kX];
    const Tensor out = node.outputs[0];
    if (!node.as<PlaceAttrs>().gathers) {
      x = cast(x, type(out), node.label + ".cast");
      return graph_.nodes.push_back(std::move(node));
    }
    const std::string label = node.label + ".cast";
    const Tensor rows = node.outputs[0] = like(out, type(x));
    graph_.nodes.push_back(std::move(node));
    add_cast(rows, out, label);
  }

  // The same tensor in f32. A state is cast at each use, since it may change; other tensors are cast once.
  Tensor widened(Tensor x, const std::string& label) {
    if (!build_.is_state(graph_.tensors[x.id].storage) && widened_[x.id].valid()) return widened_[x.id];
    return widened_[x.id] = cast(x, DType::F32, label + ".cast");
  }

  Tensor like(Tensor x, DType to) {
    const TensorInfo shape = build_.info(x);
    return build_.add_like(shape, to);
  }
  Tensor cast(Tensor x, DType to, std::string label) {
    const Tensor made = like(x, to);
    add_cast(x, made, std::move(label));
    return made;
  }
  void add_cast(Tensor from, Tensor to, std::string label) {
    build_.add_node(Op::Elementwise, {from}, to, ElementwiseAttrs{}).label = std::move(label);
  }

  GraphData& graph_;
  Build build_;
  std::vector<bool> keeps_;      // by storage
  std::vector<Tensor> widened_;  // by tensor
};

}  // namespace

void widen_activations(GraphData* graph) {
  if (std::any_of(graph->tensors.begin(), graph->tensors.end(), [](const TensorInfo& t) { return is_narrow(t.dtype); }))
    Widening(graph).run();
}

}  // namespace detail

}  // namespace heed
