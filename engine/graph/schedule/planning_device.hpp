// The device's properties that planning needs.
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
  int64_t first_row = 0;  // index in the uploaded tensor, if this is a part of one (weight_parts.hpp)
};

struct PlanningTraits {
  uint64_t alignment = 256;  // alignment of every tensor in scratch
  // Larger tensors are refused with both numbers, except for tables and matrices that can be divided into parts.
  uint64_t max_tensor_bytes = UINT64_MAX;
  int64_t colliding_pitch = 0;     // bytes; rows at a multiple of this distance collide in a cache. 0: none do
  bool converts_results = false;   // operations marked so in the sheet write any floating-point type
  bool adds_behind_norms = true;   // norms can add a residual to their result
  bool strided_attention = false;  // the fused attention writes any strides, so that a copy after it can be removed
};

// The default device fuses nothing.
class PlanningDevice {
 public:
  explicit PlanningDevice(const PlanningTraits& traits = {}) : traits(traits) {}
  virtual ~PlanningDevice() = default;

  // Whether the device has a fused kernel for this attention. Otherwise it becomes matmul, softmax and matmul.
  virtual bool fuses_attention(const GraphData&, const Node&) const { return false; }
  // Whether the device has a projection kernel for rows and weights of these types, with results of the type of the rows, or some of type
  // `results`. Otherwise each matmul is a separate pass.
  virtual bool projects(DType /*rows*/, DType /*weights*/, DType /*results*/) const { return false; }
  // Whether one pass can bind all these weights at their uploaded offsets.
  virtual bool binds_together(std::span<const WeightEntry* const>) const { return false; }
  // The most elements of Node::workspace that the pass may use; `max_values` are the sizes at their maxima.
  virtual int64_t workspace(const GraphData&, std::span<const int64_t> /*max_values*/, const Node&,
                            bool /*reproducible*/) const {
    return 0;
  }

  PlanningTraits traits;
};

}  // namespace heed::detail
