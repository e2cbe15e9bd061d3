// A graph made ready to run: the passes in order, and the memory of every tensor. Independent of devices: Vulkan devices and the CPU device
// run the same Schedule.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <heed/device.hpp>
#include <heed/status.hpp>

#include "graph/graph_data.hpp"
#include "graph/node.hpp"
#include "graph/schedule/planning_device.hpp"

namespace heed {

namespace detail {
class WeightsImpl;
}

// The memory of a storage tensor. `slot` indexes Schedule::inputs, ::outputs, ::weights, ::constants or ::states.
struct Placement {
  enum class Space : uint8_t { None, Input, Output, Weight, Constant, Scratch, State };
  Space space = Space::None;
  uint32_t slot = 0;
  uint64_t offset = 0;  // bytes into scratch, or into the weights' memory if planning knew it
  uint64_t bytes = 0;   // at the extents' maxima, rounded up to 4
  SizeId elements = 0;
};

struct Schedule {
  SizeTable sizes;
  std::vector<detail::ExtentInfo> extents;
  std::vector<detail::SizeBound> bounds;
  std::vector<TensorInfo> tensors;
  std::vector<Placement> placements;  // by tensor id; only storage tensors that passes use have a space
  std::vector<Node> passes;           // in execution order; Op::Attention only if the options allow it
  std::vector<detail::NamedTensor> inputs, outputs, weights, states;
  std::vector<detail::ConstantInfo> constants;
  CompileOptions asked;
  uint64_t scratch_bytes = 0;
  std::vector<int64_t> max_values;  // every size at the extents' maxima

  // A host's buffer: index i counts the inputs first, then the outputs.
  const detail::NamedTensor& buffer(size_t i) const {
    return i < inputs.size() ? inputs[i] : outputs[i - inputs.size()];
  }
  // Bytes of this buffer that a run with these sizes reads or writes, not rounded up.
  uint64_t buffer_bytes(size_t i, std::span<const int64_t> run_sizes) const {
    const TensorInfo& info = tensors[buffer(i).tensor];
    return bytes_of(info.dtype,
                    static_cast<uint64_t>(run_sizes[static_cast<size_t>(placements[info.storage].elements)]));
  }
  std::vector<int64_t> max_shape(const TensorInfo& info) const;  // at the extents' maxima
  const TensorInfo& info(Tensor t) const { return tensors[t.id]; }
  const Placement& placement(Tensor t) const { return placements[tensors[t.id].storage]; }
};

// Options of make_schedule. Reproducible plans have the same passes on every device (graph/rewrite/reproducible.cpp).
struct ScheduleOptions {
  CompileOptions asked = {};
  const detail::PlanningDevice* device = nullptr;  // null: one that fuses nothing
  const detail::WeightsImpl* weights = nullptr;    // null: unknown, and no pass reads several weights together
};

// Unsupported, naming the pass, if its operation or types are not allowed in reproducible plans.
Status check_reproducible(const Schedule& schedule, const Log& log);

// Checks the graph, removes dead nodes, lowers composite operations, fuses, orders, and lays out scratch.
Status make_schedule(const detail::GraphData& graph, const ScheduleOptions& options, const Log& log,
                     Schedule* schedule);

// A tensor at one run, with concrete sizes. Strides and offset are in elements.
struct View {
  DType dtype = DType::F32;
  int rank = 0;
  int64_t dim[kMaxRank] = {};
  int64_t stride[kMaxRank] = {};
  int64_t offset = 0;

  int64_t elements() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= dim[i];
    return n;
  }
};

// The values that are only known at run time.
struct RunValues {
  std::span<const int64_t> sizes;
  uint32_t seed = 0;
  // Elements to add to the offsets of tensors, by storage id; empty: none. Needed because descriptor offsets are aligned, and a host's
  // buffer may be bound below its actual start.
  std::span<const int64_t> storage_offsets = {};
};

View resolve(const Schedule& schedule, Tensor tensor, const RunValues& values);
// `view` with the shape of `target`, by numpy's broadcast rule (stride 0 in broadcast dims).
View broadcast_to(const View& view, const View& target);
// Converts a view with one element per row to a view of the rows' rank, with stride 0 along the row.
View per_row(View view);
// Removes an axis from a view, and returns its stride. A view whose rank is not `rank` has already lost the axis: it is unchanged, and 0 is
// returned.
int64_t take_axis(View* view, int axis, int rank);

// Fills `sizes` (schedule.sizes.count() values) from named extents. All extents must be given; a position that is not given is 0. On
// failure the message names the extent and both values; only `sizes` may have changed. `extent_values` is a buffer of
// schedule.extents.size() elements. Allocates only to log a failure.
template <class ExtentValues>
Status resolve_extents(const Schedule& schedule, const ExtentValues& given, const Log& log,
                       std::span<int64_t> extent_values, std::span<int64_t> sizes);
Status set_extent(const Schedule& schedule, std::string_view name, int64_t value, const Log& log,
                  std::span<int64_t> extent_values);
// Values that were not given are negative here. A position's becomes 0; an extent's is an error.
Status finish_extents(const Schedule& schedule, const Log& log, std::span<int64_t> extent_values,
                      std::span<int64_t> sizes);

template <class ExtentValues>
Status resolve_extents(const Schedule& schedule, const ExtentValues& given, const Log& log,
                       std::span<int64_t> extent_values, std::span<int64_t> sizes) {
  for (size_t i = 0; i < schedule.extents.size(); ++i) extent_values[i] = -1;
  for (const auto& extent : given) {
    const Status status = set_extent(schedule, extent.name, extent.value, log, extent_values);
    if (status != Status::Ok) return status;
  }
  return finish_extents(schedule, log, extent_values, sizes);
}

// Each extent with its maximum.
std::vector<ExtentValue> largest_extents(const Schedule& schedule);

// The range in the weights' memory that contains all weights that a pass reads. Planning must have known the weights.
struct WeightSpan {
  uint64_t begin = UINT64_MAX, end = 0;
};
WeightSpan span_of_weights(const Schedule& schedule, const Node& pass);

// Minimum work of one pass at the given sizes, for reports: floating-point operations, and bytes if every operand crossed memory once.
struct Cost {
  double flops = 0;
  double bytes = 0;
};
Cost cost_of(const Schedule& schedule, const Node& node, const RunValues& values);

// For each pass, the bytes that would cross memory if all passes were fused: the graph's outputs, writes to states, and the first reads of
// inputs, weights, constants and states.
std::vector<double> fewest_bytes(const Schedule& schedule, const RunValues& values);

}  // namespace heed
