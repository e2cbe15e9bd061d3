// Divides tables and matrices that exceed what the device binds as one tensor. An embedding of each part gives the rows in that part; a
// matmul by each part gives columns of the result. No sum changes.
#include <algorithm>
#include <utility>

#include "base/half.hpp"
#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"
#include "graph/schedule/weight_parts.hpp"

namespace heed::detail {
namespace {

class Dividing {
 public:
  Dividing(GraphData* graph, uint64_t most_bytes) : graph_(*graph), build_(*graph, "divide"), most_bytes_(most_bytes) {}

  void run() {
    const std::vector<NamedTensor> all = std::exchange(graph_.weights, {});
    for (const NamedTensor& weight : all) {
      const int64_t rows = rows_of_parts(weight.tensor);
      if (rows == 0 || !may_divide(weight.tensor))
        graph_.weights.push_back(weight);
      else
        divide(weight, rows);
    }
  }

 private:
  // 0: the weight is not divided.
  int64_t rows_of_parts(uint32_t weight) const {
    const TensorInfo& info = graph_.tensors[weight];
    if (info.rank != 2) return 0;
    const int64_t rows = build_.max_of(info.dims[0]), columns = build_.max_of(info.dims[1]);
    const int64_t each = detail::rows_of_parts(rows, bytes_of(info.dtype, static_cast<uint64_t>(columns)), most_bytes_);
    return each < rows ? each : 0;
  }

  bool may_divide(uint32_t weight) const {
    const Dataflow flow(graph_);
    const auto readers = flow.readers(weight);
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](const Dataflow::Reader& reader) {
      return reads_by_rows(graph_.nodes[reader.node], reader.input, weight);
    });
  }

  bool reads_by_rows(const Node& node, size_t input, uint32_t weight) const {
    if (node.op == Op::Embedding) return input == in::kTable && node.inputs[input].id == weight;
    if (node.op != Op::Matmul || input != in::kB || node.outputs[out::kBeforeActivation].valid()) return false;
    // Dropout counts the elements of the undivided result.
    const TensorInfo &whole = graph_.tensors[weight], &b = build_.info(node.inputs[input]);
    return node.as<MatmulAttrs>().dropout.p == 0.0f && b.rank == 2 && graph_.sizes.is_constant(b.offset, 0) &&
           b.dims[0] == whole.dims[1] && b.dims[1] == whole.dims[0] && b.strides[0] == whole.strides[1] &&
           b.strides[1] == whole.strides[0];
  }

  struct Part {
    Tensor tensor;
    int64_t begin = 0, rows = 0;
  };

  void divide(const NamedTensor& weight, int64_t each) {
    const int64_t rows = build_.max_of(graph_.tensors[weight.tensor].dims[0]);
    std::vector<Part> parts;
    for (int64_t begin = 0; begin < rows; begin += each) {
      Part part = {{}, begin, std::min(each, rows - begin)};
      TensorInfo info = graph_.tensors[weight.tensor];
      info.dims[0] = graph_.sizes.constant(part.rows);
      info.name = name_of_part(weight.name, begin, begin + part.rows);
      part.tensor = build_.add_storage(info);
      graph_.weights.push_back({info.name, part.tensor.id});
      parts.push_back(part);
    }
    std::vector<Node> nodes;
    for (Node& node : std::exchange(graph_.nodes, {})) {
      const size_t input = node.op == Op::Embedding ? in::kTable : in::kB;
      const bool reads = (node.op == Op::Embedding || node.op == Op::Matmul) && node.inputs[input].valid() &&
                         build_.info(node.inputs[input]).storage == weight.tensor;
      if (!reads) {
        nodes.push_back(std::move(node));
        continue;
      }
      for (const Part& part : parts)
        nodes.push_back(node.op == Op::Embedding ? embedding(node, part, rows) : product(node, part));
    }
    graph_.nodes = std::move(nodes);
  }

  static Node embedding(Node node, const Part& part, int64_t rows) {
    node.inputs[in::kTable] = part.tensor;
    node.as<EmbeddingAttrs>() = {part.begin, rows};
    return node;
  }

  Node product(Node node, const Part& part) {
    const auto columns = [&](Tensor* whole) {
      if (!whole->valid()) return;
      const int last = build_.info(*whole).rank - 1;
      *whole = build_.add_range(*whole, last, graph_.sizes.constant(part.begin), graph_.sizes.constant(part.rows));
    };
    node.inputs[in::kB] = build_.add_transposed(part.tensor, 0, 1);
    for (const size_t input : {in::kBias, in::kResidual}) columns(&node.inputs[input]);
    columns(&node.outputs[0]);
    return node;
  }

  GraphData& graph_;
  Build build_;
  uint64_t most_bytes_;
};

}  // namespace

void divide_weights(GraphData* graph, const PlanningDevice& device) {
  if (device.traits.max_tensor_bytes < UINT64_MAX) Dividing(graph, device.traits.max_tensor_bytes).run();
}

}  // namespace heed::detail
