// What planning asks a device. A device answers here, and each question is asked once for a pass.
#pragma once

#include <cstdint>
#include <span>

#include "graph/graph_data.hpp"

namespace heed::detail {

// One tensor of an upload.
struct WeightEntry {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  uint64_t offset = 0;    // bytes into the weights' memory
  uint64_t bytes = 0;     // rounded up to 4
  int64_t first_row = 0;  // of the uploaded tensor, where it is a part of one (weight_parts.hpp)
};

struct PlanningTraits {
  uint64_t alignment = 256;  // of every tensor in scratch
  // Larger tensors are refused with both numbers, but for tables and matrices that may lie in parts.
  uint64_t max_tensor_bytes = UINT64_MAX;
  int64_t colliding_pitch = 0;  // bytes; rows this far apart, or a multiple, collide in a cache. 0: none do
  bool converts_results =
      false;  // operations that may (see the sheet) write results of any type of float, whatever they read
  bool adds_behind_norms = true;   // norms add a residual to what they give
  bool strided_attention = false;  // the fused attention writes any strides: a copy behind it is then left out
};

// This one fuses nothing.
class PlanningDevice {
 public:
  explicit PlanningDevice(const PlanningTraits& traits = {}) : traits(traits) {}
  virtual ~PlanningDevice() = default;

  // Whether it has a fused kernel for this attention. Without one it becomes matmul, softmax and matmul.
  virtual bool fuses_attention(const GraphData&, const Node&) const { return false; }
  // Whether it has a kernel for projections of rows of this type by weights of that type, whose results all have the type of the
  // rows, or some of them another one. Without one each product is a pass of its own.
  virtual bool projects(DType /*rows*/, DType /*weights*/, DType /*results*/) const { return false; }
  // Whether one pass can read all these weights, which lie where they were uploaded.
  virtual bool binds_together(std::span<const WeightEntry* const>) const { return false; }
  // Most elements of Node::workspace that the pass may use, where `max_values` are the sizes at their maxima.
  virtual int64_t workspace(const GraphData&, std::span<const int64_t> /*max_values*/, const Node&) const { return 0; }

  PlanningTraits traits;
};

}  // namespace heed::detail
