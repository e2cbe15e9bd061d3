// The data of a Graph.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/node.hpp"

namespace heed::detail {

// A number that differs from run to run. The host gives it by its name, or each run computes it by SizeTable::rule_of.
struct ExtentInfo {
  std::string name;  // only for messages if the number is computed
  int64_t max = 1;
  SizeId size = 0;
  int64_t least = 1;
  bool is_computed = false;
};

// Computes a number at a run. `extents` holds the numbers before it. Returns false, with the reason in `wrong`, if the run must be refused.
bool compute(const SizeTable& sizes, const ExtentInfo& extent, std::span<const int64_t> extents, int64_t* value,
             std::string* wrong);

// A bound, size <= limit, that must hold at a run. Otherwise the run is refused.
struct SizeBound {
  SizeId size = 0, limit = 0;
  std::string what;  // for the message
};

struct NamedTensor {
  std::string name;
  uint32_t tensor = 0;
};

struct ConstantInfo {
  uint32_t tensor = 0;
  std::shared_ptr<const std::byte[]> memory;  // shared by all copies of the graph and its plans
  std::span<const std::byte> data;
};

struct GraphData {
  SizeTable sizes;
  std::vector<ExtentInfo> extents;
  std::vector<SizeBound> bounds;
  std::vector<TensorInfo> tensors;
  std::vector<Node> nodes;  // in the order of the calls, which is a topological order
  std::vector<NamedTensor> inputs, weights, outputs, states;
  std::vector<NamedTensor> kept_weights;  // those that weight_in_state turned into views of a state
  std::vector<ConstantInfo> constants;
  std::vector<std::string> labels;
  uint32_t dropout_streams = 0, sample_streams = 0;
  Status status = Status::Ok;
  std::string error;
};

// The sizes of a graph's tables at one moment, to undo what a failed call has added. A call that changes existing contents, other than the
// writes of states, needs a copy of the graph instead.
class GraphMark {
 public:
  explicit GraphMark(const GraphData& data);
  // Undoes everything since the mark, and clears the mistake.
  void restore(GraphData* data) const;

 private:
  size_t sizes_, extents_, bounds_, tensors_, nodes_, inputs_, weights_, outputs_, states_, kept_weights_, constants_;
  std::vector<std::string> labels_;
  std::vector<int64_t> least_;    // minimum of each extent
  std::vector<uint32_t> writes_;  // number of writes to each state
  uint32_t dropout_streams_, sample_streams_;
};

}  // namespace heed::detail
