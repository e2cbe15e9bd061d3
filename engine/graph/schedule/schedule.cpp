#include "graph/schedule/schedule.hpp"

#include <algorithm>
#include <utility>

#include "base/arith.hpp"
#include "base/logging.hpp"
#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"
#include "graph/schedule/backend.hpp"

namespace heed {
namespace {

using detail::Dataflow;
using detail::GraphData;
using detail::NamedTensor;
using detail::ScratchItem;

// More than any machine's memory, yet multiplying by the sizes of tiles and elements does not overflow.
constexpr int64_t kMostElements = int64_t{1} << 44;

class Planner {
 public:
  Planner(GraphData graph, const ScheduleOptions& options, const Log& log)
      : graph_(std::move(graph)),
        asked_(options.asked),
        weights_(options.weights),
        given_(options.device != nullptr ? *options.device : plain_),
        reproducible_(given_),
        device_(asked_.reproducible ? reproducible_ : given_),
        log_(log) {}

  Status run(Schedule* schedule) {
    const bool writes_states = std::any_of(graph_.states.begin(), graph_.states.end(), [&](const NamedTensor& state) {
      return graph_.tensors[state.tensor].writes != 0;
    });
    if (graph_.outputs.empty() && !writes_states)
      return fail(log_, Status::InvalidGraph, "compile: the graph has no output, and writes no state");
    detail::remove_idle_dropout(&graph_, asked_.training);
    detail::remove_dead_nodes(&graph_);
    detail::isolate_outputs(&graph_);
    detail::merge_equal(&graph_);
    if (!asked_.reproducible) {
      detail::recognize_norms(&graph_);
      detail::recognize_rotary(&graph_);
      detail::recognize_attention(&graph_);
    }
    detail::lower_attention(&graph_, device_, asked_.reproducible);
    if (asked_.reproducible)
      detail::widen_activations(&graph_);
    else
      detail::recognize_activations(&graph_);
    detail::fuse(&graph_, device_);
    detail::fuse_gradients(&graph_);
    detail::write_in_place(&graph_, device_, detail::Products::Whole);
    if (weights_ != nullptr) detail::project(&graph_, device_, *weights_);
    detail::write_in_place(&graph_, device_, detail::Products::PerHead);
    detail::spread_rows(&graph_, device_.traits.colliding_pitch);
    detail::join_elementwise(&graph_);
    detail::divide_weights(&graph_, device_);
    evaluate_maxima();
    Status status = check_sizes();
    if (status != Status::Ok) return status;
    add_workspaces();
    count_elements();
    status = place();
    if (status == Status::Ok) finish(schedule);
    return status;
  }

 private:
  void evaluate_maxima() {
    std::vector<int64_t> maxima;
    for (const auto& extent : graph_.extents) maxima.push_back(extent.max);
    max_values_.resize(graph_.sizes.count());
    graph_.sizes.evaluate(maxima, max_values_);  // an overflow appears as INT64_MAX in the sizes of the tensor
  }

  // A view counts the elements that it shows, even if it shows stored elements several times.
  Status check_sizes() {
    Status status = Status::Ok;
    const auto check = [&](Tensor tensor) {
      if (status != Status::Ok || !tensor.valid() || is_possible(graph_.tensors[tensor.id])) return;
      status = too_large(graph_.tensors[tensor.id].storage);
    };
    for (const Node& node : graph_.nodes) {
      std::for_each(node.inputs.begin(), node.inputs.end(), check);
      std::for_each(node.outputs.begin(), node.outputs.end(), check);
    }
    return status;
  }

  bool is_possible(const TensorInfo& info) const {
    int64_t elements = 1;
    for (size_t i = 0; i < static_cast<size_t>(info.rank); ++i)
      if (!checked_mul(elements, max_values_[static_cast<size_t>(info.dims[i])], &elements)) return false;
    return elements <= kMostElements;
  }

  Status too_large(uint32_t storage) {
    return fail(log_, Status::InvalidGraph,
                "compile: " + name_of(storage) + " has more elements than can be addressed");
  }

  void add_workspaces() {
    detail::Build build(graph_, "compile");
    for (Node& node : graph_.nodes) {
      const int64_t elements = device_.workspace(graph_, max_values_, node, false);
      if (elements == 0) continue;
      TensorInfo info;
      info.rank = 1;
      info.dims[0] = graph_.sizes.constant(elements);
      node.workspace = build.add_like(info, DType::F32);
    }
    evaluate_maxima();
  }

  Status measure(uint32_t storage, Placement* placement) {
    const int64_t elements = max_values_[static_cast<size_t>(placement->elements)];
    if (elements > INT64_MAX / 16) return too_large(storage);
    placement->bytes = align_up<uint64_t>(bytes_of(graph_.tensors[storage].dtype, static_cast<uint64_t>(elements)), 4);
    if (placement->bytes > device_.traits.max_tensor_bytes)
      return fail(log_, Status::Unsupported,
                  format("compile: %s needs %llu bytes; this device binds at most %llu bytes as one tensor",
                         name_of(storage).c_str(), static_cast<unsigned long long>(placement->bytes),
                         static_cast<unsigned long long>(device_.traits.max_tensor_bytes)));
    return Status::Ok;
  }

  std::string name_of(uint32_t storage) {
    detail::Build build(graph_, "compile");
    std::string text = build.text({storage});
    if (!graph_.tensors[storage].name.empty()) return text;
    for (const Node& node : graph_.nodes)
      for (const auto& [tensor, what] : {std::pair{node.outputs[0], "result"},
                                         {node.outputs[1], "result"},
                                         {node.outputs[2], "result"},
                                         {node.outputs[3], "result"},
                                         {node.workspace, "workspace"}})
        if (tensor.id == storage) return std::string(what) + " of " + node.label + " " + text;
    return text;
  }

  void place_named(const std::vector<NamedTensor>& list, Placement::Space space) {
    for (size_t i = 0; i < list.size(); ++i) {
      Placement& placement = placements_[graph_.tensors[list[i].tensor].storage];
      placement.space = space;
      placement.slot = static_cast<uint32_t>(i);
    }
  }

  void place_weights() {
    for (const NamedTensor& weight : graph_.weights)
      if (const detail::WeightEntry* const entry = weights_ != nullptr ? weights_->find(weight.name) : nullptr)
        placements_[graph_.tensors[weight.tensor].storage].offset = entry->offset;
  }

  // Counts the elements of every tensor that has its own memory. Rows may have gaps, but the first axis is the outermost.
  void count_elements() {
    placements_.assign(graph_.tensors.size(), {});
    for (size_t s = 0; s < placements_.size(); ++s) {
      const TensorInfo& info = graph_.tensors[s];
      if (info.storage != s) continue;
      placements_[s].elements =
          info.rank == 0 ? graph_.sizes.constant(1) : graph_.sizes.mul(info.strides[0], info.dims[0]);
    }
    evaluate_maxima();  // the sizes added above need values, too
  }

  Status place() {
    // The host and the device need to provide only what passes use.
    const Dataflow flow(graph_);
    const auto unused = [&](uint32_t tensor) { return flow.readers(graph_.tensors[tensor].storage).empty(); };
    std::erase_if(graph_.weights, [&](const NamedTensor& t) { return unused(t.tensor); });
    std::erase_if(graph_.constants, [&](const detail::ConstantInfo& c) { return unused(c.tensor); });
    std::erase_if(graph_.states, [&](const NamedTensor& t) { return unused(t.tensor) && flow.producer[t.tensor] < 0; });
    std::sort(graph_.states.begin(), graph_.states.end(),
              [](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; });
    place_named(graph_.inputs, Placement::Space::Input);
    place_named(graph_.weights, Placement::Space::Weight);
    place_weights();
    place_named(graph_.outputs, Placement::Space::Output);
    place_named(graph_.states, Placement::Space::State);
    for (size_t i = 0; i < graph_.constants.size(); ++i) {
      Placement& placement = placements_[graph_.constants[i].tensor];
      placement.space = Placement::Space::Constant;
      placement.slot = static_cast<uint32_t>(i);
    }
    std::vector<ScratchItem> items;
    std::vector<uint32_t> storages;
    Status status = Status::Ok;
    for (uint32_t s = 0; s < graph_.tensors.size() && status == Status::Ok; ++s) {
      Placement& placement = placements_[s];
      if (placement.space == Placement::Space::None && flow.producer[s] < 0) continue;
      status = measure(s, &placement);
      if (placement.space != Placement::Space::None) continue;
      placement.space = Placement::Space::Scratch;
      items.push_back(life(flow, s, placement.bytes));
      storages.push_back(s);
    }
    if (status != Status::Ok) return status;
    // Sums are checked after each tensor, so that adding one more cannot overflow.
    constexpr uint64_t kMost = uint64_t{1} << 62;
    uint64_t together = 0, stays = 0;
    for (const ScratchItem& item : items) {
      together += item.bytes;
      if (together > kMost)
        return fail(log_, Status::InvalidGraph,
                    "compile: the tensors between passes need more scratch than can be addressed");
    }
    for (const NamedTensor& state : graph_.states) {
      stays += placements_[state.tensor].bytes;
      if (stays > kMost) return fail(log_, Status::InvalidGraph, "compile: the states are more than can be addressed");
    }
    scratch_bytes_ = detail::place_scratch(&items, device_.traits.alignment);
    for (size_t i = 0; i < items.size(); ++i) placements_[storages[i]].offset = items[i].offset;
    return Status::Ok;
  }

  static ScratchItem life(const Dataflow& flow, uint32_t storage, uint64_t bytes) {
    ScratchItem item;
    item.bytes = bytes;
    item.first = static_cast<size_t>(flow.first_producer[storage]);
    item.last = static_cast<size_t>(flow.producer[storage]);
    for (const Dataflow::Reader& reader : flow.readers(storage)) item.last = std::max(item.last, reader.node);
    return item;
  }

  void finish(Schedule* schedule) {
    *schedule = {};
    schedule->sizes = std::move(graph_.sizes);
    schedule->extents = std::move(graph_.extents);
    schedule->bounds = std::move(graph_.bounds);
    schedule->tensors = std::move(graph_.tensors);
    schedule->placements = std::move(placements_);
    schedule->passes = std::move(graph_.nodes);
    schedule->inputs = std::move(graph_.inputs);
    schedule->outputs = std::move(graph_.outputs);
    schedule->weights = std::move(graph_.weights);
    schedule->states = std::move(graph_.states);
    schedule->constants = std::move(graph_.constants);
    schedule->asked = asked_;
    schedule->scratch_bytes = scratch_bytes_;
    schedule->max_values = std::move(max_values_);
  }

  GraphData graph_;
  const CompileOptions& asked_;
  const detail::WeightsImpl* weights_;
  const detail::PlanningDevice plain_, &given_;
  const detail::ReproducibleDevice reproducible_;
  const detail::PlanningDevice& device_;
  const Log& log_;
  std::vector<Placement> placements_;
  std::vector<int64_t> max_values_;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace

Status make_schedule(const GraphData& graph, const ScheduleOptions& options, const Log& log, Schedule* schedule) {
  if (graph.status != Status::Ok) return fail(log, graph.status, graph.error);
  return Planner(graph, options, log).run(schedule);
}

}  // namespace heed
