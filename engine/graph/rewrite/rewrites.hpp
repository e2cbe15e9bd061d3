// The rewrites that turn a Graph into a Schedule, in the order of make_schedule. Each changes a private copy of the
// graph.
#pragma once

#include <span>
#include <vector>

#include "graph/graph_data.hpp"
#include "graph/schedule/schedule.hpp"

namespace heed::detail {

// A device as reproducible plans see it. Attention and its gradient are composed of matmuls and softmax. Disables split-k and norm fusion.
class ReproducibleDevice final : public PlanningDevice {
 public:
  explicit ReproducibleDevice(const PlanningDevice& device) : PlanningDevice(device.traits), device_(device) {
    traits.converts_results = traits.strided_attention = traits.adds_behind_norms = false;
  }
  int64_t workspace(const GraphData& graph, std::span<const int64_t> max_values, const Node& node,
                    bool /*reproducible*/) const override {
    return node.op == Op::Matmul ? 0 : device_.workspace(graph, max_values, node, true);
  }

 private:
  const PlanningDevice& device_;
};

// Removes dropouts that have no effect: all of them unless training, and those with p == 0.
void remove_idle_dropout(GraphData* graph, bool training);
// Removes nodes whose results reach no output or state.
void remove_dead_nodes(GraphData* graph);
// Merges nodes that compute the same from the same inputs, and equal constants.
void merge_equal(GraphData* graph);
// Replaces matmuls, masking and softmax that compose an attention by one attention node, if no other node reads the intermediate results.
void recognize_attention(GraphData* graph);
// Replaces composed LayerNorms and RMSNorms by one node each.
void recognize_norms(GraphData* graph);
// Replaces composed rotary embeddings, with any cosines and sines, by one node each.
void recognize_rotary(GraphData* graph);
// Replaces Op::Attention by matmul, softmax, dropout, matmul, except where the device has a fused kernel, which may need lengths and
// positions joined. In reproducible plans also replaces Op::AttentionBackward.
void lower_attention(GraphData* graph, const PlanningDevice& device, bool reproducible);
// Gives every output its own storage: adds copies if an output is a view, an input, or given twice.
void isolate_outputs(GraphData* graph);
// Changes every f16 and bf16 tensor between passes to f32, so that a plan computes and stores in f32. Tensors that the host sees and
// results of casts keep their type, with casts around the passes that read and write them. For reproducible plans only.
void widen_activations(GraphData* graph);
// Replaces composed GELUs, SiLUs and tanhs by one node each. Values between their functions are then no longer rounded.
void recognize_activations(GraphData* graph);
// Moves bias, activation, dropout and residual or gate into the matmul before them, a residual into the norm before or after it, and scale
// and activation into the elementwise operation before them. Moves an activation's gradient into the matmul before it, and a sum after a
// norm's gradient into that. Removes copies after attention if the device writes any strides.
void fuse(GraphData* graph, const PlanningDevice& device);
// Lets matmuls store both the input and the result of an activation, if both are read; lets gradients of norms sum their rows instead of a
// pass after them; and lets gradients of attention write directly into a concatenation.
void fuse_gradients(GraphData* graph);
// Lets passes write directly into states, and removes the copies after them. A matmul cannot write heads that lie apart in the state; with
// PerHead it becomes a batched matmul with one matrix per head, which can.
enum class Products : uint8_t { Whole, PerHead };
void write_in_place(GraphData* graph, const PlanningDevice& device, Products products);
// Merges up to three matmuls of the same few rows, with the norm before and the rotary or gate after them, into one pass, if the device has
// a kernel for it that can read these weights.
void project(GraphData* graph, const PlanningDevice& device, const WeightsImpl& weights);
// Lets nodes read the parts of weights that the device cannot bind as one tensor, if their operations work row by row.
void divide_weights(GraphData* graph, const PlanningDevice& device);
// Merges chains of elementwise nodes whose intermediate results nothing else reads, as far as a program can hold them, and computes the
// rank of each. Values between the functions of a node are not rounded to f16 or bf16.
void join_elementwise(GraphData* graph);
// Adds two cache lines between rows if a matmul reads rows whose distance is a multiple of `pitch` bytes: they would map to a few sets of
// the first-level cache and evict each other. 0: does nothing.
void spread_rows(GraphData* graph, int64_t pitch);

// The nodes that write and read each storage. Views count as their storage.
struct Dataflow {
  explicit Dataflow(const GraphData& graph);
  struct Reader {
    size_t node;
    size_t input;
  };
  std::span<const Reader> readers(uint32_t storage) const {
    return std::span(all_readers_).subspan(first_reader_[storage], first_reader_[storage + 1] - first_reader_[storage]);
  }
  std::vector<bool> is_output;  // by storage id; includes states
  std::vector<int64_t>
      producer;  // node that writes the storage (the last one, if several write parts of it or a state), or -1
  std::vector<int64_t> first_producer;

  // The reader of a storage that is read exactly once and is not an output; otherwise null.
  const Reader* only_reader(uint32_t storage) const;

 private:
  std::vector<Reader> all_readers_;   // those of storage 0, then of storage 1, ...
  std::vector<size_t> first_reader_;  // by storage id, with an end marker
};

// Whether the node writes the storage or a part of it.
bool writes(const GraphData& graph, const Node& node, uint32_t storage);

// Assigns every item an offset in scratch such that items whose live ranges [first, last], in passes, overlap do not share memory. Returns
// the bytes needed.
struct ScratchItem {
  uint64_t bytes = 0;
  size_t first = 0, last = 0;
  uint64_t offset = 0;  // the result
};
uint64_t place_scratch(std::vector<ScratchItem>* items, uint64_t alignment);

}  // namespace heed::detail
