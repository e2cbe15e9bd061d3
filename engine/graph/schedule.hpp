// A graph planned for execution: what runs in which order and where every tensor lives. No device in it; the Vulkan
// and CPU devices run the same Schedule.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <heed/status.hpp>

#include "graph/graph_data.hpp"
#include "graph/node.hpp"

namespace heed {

// Where the memory of a storage tensor is. `slot` indexes Schedule::inputs, ::outputs, ::weights or ::constants.
struct Placement {
  enum class Space : uint8_t { None, Input, Output, Weight, Constant, Scratch };
  Space space = Space::None;
  uint32_t slot = 0;
  uint64_t offset = 0;  // bytes into scratch
  uint64_t bytes = 0;   // at the extents' maxima, rounded up to 4
  SizeId elements = 0;
};

struct Schedule {
  SizeTable sizes;
  std::vector<detail::ExtentInfo> extents;
  std::vector<TensorInfo> tensors;
  std::vector<Placement> placements;  // by tensor id; only storage tensors that the steps use have a space
  std::vector<Node> steps;            // in execution order; never Op::Attention unless the options allow it
  std::vector<detail::NamedTensor> inputs, outputs, weights;
  std::vector<detail::ConstantInfo> constants;
  uint64_t scratch_bytes = 0;
  std::vector<int64_t> max_values;  // every size at the extents' maxima

  const TensorInfo& info(Tensor t) const { return tensors[t.id]; }
  const Placement& placement(Tensor t) const { return placements[tensors[t.id].storage]; }
};

struct ScheduleOptions {
  bool training = false;
  uint64_t alignment = 256;                // of every tensor in scratch
  uint64_t max_tensor_bytes = UINT64_MAX;  // larger tensors are refused with both numbers
  // Whether the device has a fused kernel for this attention. Without one it becomes matmul, softmax and matmul.
  bool (*keeps_attention)(const void* context, const detail::GraphData& graph, const Node& node) = nullptr;
  // Most elements of Node::workspace that the step may use, where `max_values` are the sizes at their maxima.
  int64_t (*workspace)(const void* context, const detail::GraphData& graph, std::span<const int64_t> max_values,
                       const Node& node) = nullptr;
  const void* context = nullptr;
  int64_t colliding_pitch = 0;     // bytes; rows this far apart, or a multiple, collide in a cache. 0: none do
  bool strided_attention = false;  // the fused kernel writes any strides: a copy behind it is left out
};

// Checks the graph, drops what no output needs, lowers composite operations, fuses, orders, and lays out scratch.
Status make_schedule(const detail::GraphData& graph, const ScheduleOptions& options, const Log& log,
                     Schedule* schedule);

// A tensor at one run: concrete sizes. Strides and offset in elements.
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

// The values of every size at one run, and what else is only known then.
struct RunValues {
  std::span<const int64_t> sizes;
  uint32_t seed = 0;
  // Elements to add to the offset of tensors of a storage, by storage id; empty: none. For host buffers that
  // are bound below where they start, because descriptor offsets are aligned.
  std::span<const int64_t> storage_offsets = {};
};

View resolve(const Schedule& schedule, Tensor tensor, const RunValues& values);
// The same, seen as rank `rank` and shape `dims` by numpy's broadcast rule (stride 0 where broadcast).
View broadcast_to(const View& view, const View& target);

// Fills `sizes` (schedule.sizes.count() values) from named extents; those not given take their maximum.
// Fails, naming the extent and both values, without touching memory outside `sizes`. `extent_values` is scratch of
// schedule.extents.size(). Allocates only to log a failure.
struct NamedValue {
  std::string_view name;
  int64_t value;
};
template <class ExtentValues>
Status resolve_extents(const Schedule& schedule, const ExtentValues& given, const Log& log,
                       std::span<int64_t> extent_values, std::span<int64_t> sizes);
Status set_extent(const Schedule& schedule, std::string_view name, int64_t value, const Log& log,
                  std::span<int64_t> extent_values);

template <class ExtentValues>
Status resolve_extents(const Schedule& schedule, const ExtentValues& given, const Log& log,
                       std::span<int64_t> extent_values, std::span<int64_t> sizes) {
  for (size_t i = 0; i < schedule.extents.size(); ++i) extent_values[i] = 0;  // not given yet
  for (const auto& extent : given) {
    const Status status = set_extent(schedule, extent.name, extent.value, log, extent_values);
    if (status != Status::Ok) return status;
  }
  for (size_t i = 0; i < schedule.extents.size(); ++i)
    if (extent_values[i] == 0) extent_values[i] = schedule.extents[i].max;
  schedule.sizes.evaluate(extent_values, sizes);  // cannot overflow below the maxima
  return Status::Ok;
}

// Least work of one step at the given sizes, for reports: floating-point operations, and bytes if every operand
// crossed memory once.
struct Cost {
  double flops = 0;
  double bytes = 0;
};
Cost cost_of(const Schedule& schedule, const Node& node, const RunValues& values);

// Of each step's bytes those that would cross memory however the work was cut into steps: of outputs of the graph, and of
// inputs, weights and constants as far as no step before has read them.
std::vector<double> fewest_bytes(const Schedule& schedule, const RunValues& values);

}  // namespace heed
