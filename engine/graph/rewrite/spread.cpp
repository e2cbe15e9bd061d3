#include "graph/rewrite/rewrites.hpp"

namespace heed::detail {
namespace {

constexpr int64_t kLine = 64;  // bytes; some processors have longer lines

bool takes_any_pitch(const Node& node) { return info_of(node.op).takes_any_pitch; }

class Spread {
 public:
  Spread(GraphData* graph, int64_t pitch) : graph_(*graph), pitch_(pitch), flow_(*graph) {}

  void run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.op != Op::Matmul) continue;
      const Tensor a = node.inputs[in::kA];
      if (collides(graph_.tensors[a.id]) && may_move(a)) move(&graph_.tensors[a.id]);
    }
  }

 private:
  bool collides(const TensorInfo& info) const {
    const auto element = static_cast<int64_t>(size_of(info.dtype));
    return info.rank >= 2 &&
           graph_.sizes.is_multiple(info.strides[static_cast<size_t>(info.rank - 2)], pitch_ / element) &&
           graph_.sizes.is_constant(info.dims[static_cast<size_t>(info.rank - 1)]);
  }

  // Whether the memory belongs to the plan, and only operations that accept any row pitch use it, always as the whole tensor.
  bool may_move(Tensor tensor) const {
    const uint32_t storage = graph_.tensors[tensor.id].storage;
    if (storage != tensor.id || flow_.producer[storage] < 0 || flow_.is_output[storage]) return false;
    const Node& producer = graph_.nodes[static_cast<size_t>(flow_.producer[storage])];
    if (!takes_any_pitch(producer) || producer.outputs[0] != tensor) return false;
    for (const Dataflow::Reader& reader : flow_.readers(storage)) {
      const Node& node = graph_.nodes[reader.node];
      if (!takes_any_pitch(node) || node.inputs[reader.input] != tensor) return false;
    }
    return true;
  }

  void move(TensorInfo* info) {
    const auto last = static_cast<size_t>(info->rank - 1);
    const int64_t lines = 2 * kLine / static_cast<int64_t>(size_of(info->dtype));
    SizeId stride = graph_.sizes.add(info->dims[last], graph_.sizes.constant(lines));
    for (size_t i = last; i-- > 0;) {
      info->strides[i] = stride;
      stride = graph_.sizes.mul(stride, info->dims[i]);
    }
  }

  GraphData& graph_;
  int64_t pitch_;
  Dataflow flow_;
};

}  // namespace

void spread_rows(GraphData* graph, int64_t pitch) {
  if (pitch > 0) Spread(graph, pitch).run();
}

}  // namespace heed::detail
