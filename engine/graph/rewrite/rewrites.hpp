// The rewrites that turn a Graph into a Schedule, in the order of make_schedule. Each changes a private copy of the
// graph.
#pragma once

#include <span>
#include <vector>

#include "graph/graph_data.hpp"
#include "graph/schedule/schedule.hpp"

namespace heed::detail {

// A device as reproducible plans see it: an attention is a product, a softmax and a product, its gradient likewise, no product
// is split or takes a norm along, and no reduction is cut.
class ReproducibleDevice final : public PlanningDevice {
 public:
  explicit ReproducibleDevice(const PlanningDevice& device) : PlanningDevice(device.traits), device_(device) {
    traits.converts_results = traits.strided_attention = traits.adds_behind_norms = false;
  }
  int64_t workspace(const GraphData& graph, std::span<const int64_t> max_values, const Node& node) const override {
    return node.op == Op::Matmul || node.op == Op::Reduce ? 0 : device_.workspace(graph, max_values, node);
  }

 private:
  const PlanningDevice& device_;
};

// Takes out every dropout that does nothing: all of them unless training, and those with p == 0.
void remove_idle_dropout(GraphData* graph, bool training);
// Drops nodes whose results no output and no state needs.
void remove_dead_nodes(GraphData* graph);
// Has one node for all that compute the same of the same, and one constant for all that are equal.
void merge_equal(GraphData* graph);
// Has one node for each attention that the graph spells out as products and a softmax, with what masks them, where nobody else reads what
// lies between.
void recognize_attention(GraphData* graph);
// Has one node for each LayerNorm and RMSNorm that the graph spells out.
void recognize_norms(GraphData* graph);
// Has one node for each rotary embedding that the graph spells out, with whatever cosines and sines.
void recognize_rotary(GraphData* graph);
// Replaces Op::Attention by matmul, softmax, dropout, matmul, except where the device fuses it, perhaps with lengths and
// positions joined; in reproducible plans Op::AttentionBackward likewise.
void lower_attention(GraphData* graph, const PlanningDevice& device, bool reproducible);
// Makes every output a storage of its own: adds copies where an output is a view, an input, or given twice.
void isolate_outputs(GraphData* graph);
// Makes f32 of every f16 and bf16 tensor between passes, so that a plan computes and stores in f32. What the host sees and what a
// cast makes keeps its type, with casts beside the passes that read and write it. Only reproducible plans have this.
void widen_activations(GraphData* graph);
// Has one node for each GELU, SiLU and tanh that the graph spells out. Values between their functions are no longer rounded.
void recognize_activations(GraphData* graph);
// Moves bias, activation, dropout and residual or gate into the matmul before them, a residual into the norm before or after it, and
// scale and activation into the elementwise operation before them. An activation's gradient goes into the matmul before it, and
// what is added to a norm's gradient into that. Leaves out copies behind attention
// where the device writes any strides.
void fuse(GraphData* graph, const PlanningDevice& device);
// Has products give what an activation makes of them beside what it is given, if both are read; the gradients of norms sum up
// their rows where a pass behind them would; and those of attention write side by side what a pass behind them would put there.
void fuse_gradients(GraphData* graph);
// Has passes write into states what a copy behind them would write there, and leaves out the copy. Where heads lie apart in
// the state, a product cannot: with PerHead it becomes a product for each head, which can.
enum class Products : uint8_t { Whole, PerHead };
void write_in_place(GraphData* graph, const PlanningDevice& device, Products products);
// Makes one pass of up to three products of the same few rows, and of the norm before and the rotary or gate behind them, where
// the device has a kernel for it that can read these weights.
void project(GraphData* graph, const PlanningDevice& device, const WeightsImpl& weights);
// Has nodes read the parts of weights that the device cannot bind as one tensor, as far as their operations go row by row.
void divide_weights(GraphData* graph, const PlanningDevice& device);
// Makes one node of chains of elementwise nodes whose results nobody else reads, as far as a program reaches; and finds the rank
// of each. Values between the functions of a node are not rounded to f16 or bf16.
void join_elementwise(GraphData* graph);
// Moves rows apart by two cache lines each where a matmul reads rows that lie a multiple of `pitch` bytes apart: they
// would share a few places of the first cache and throw each other out. 0: does nothing.
void spread_rows(GraphData* graph, int64_t pitch);

// The nodes that write and read each storage. Writing or reading a view counts for its storage.
struct Dataflow {
  explicit Dataflow(const GraphData& graph);
  struct Reader {
    size_t node;
    size_t input;
  };
  std::span<const Reader> readers(uint32_t storage) const {
    return std::span(all_readers_).subspan(first_reader_[storage], first_reader_[storage + 1] - first_reader_[storage]);
  }
  std::vector<bool> is_output;  // by storage id; states are outputs, too
  std::vector<int64_t>
      producer;  // node that writes the storage, the last if several write parts of it or a state; or -1
  std::vector<int64_t> first_producer;

  // The reader of a storage that is read exactly once and is no output; otherwise null.
  const Reader* only_reader(uint32_t storage) const;

 private:
  std::vector<Reader> all_readers_;   // of storage 0, then of storage 1, ...
  std::vector<size_t> first_reader_;  // by storage id, and one behind the last
};

// Whether the node writes the storage, or a part of it.
bool writes(const GraphData& graph, const Node& node, uint32_t storage);

// Gives every item an offset in scratch, such that items whose lives [first, last], in passes, overlap lie apart.
// Returns the bytes needed.
struct ScratchItem {
  uint64_t bytes = 0;
  size_t first = 0, last = 0;
  uint64_t offset = 0;  // out
};
uint64_t place_scratch(std::vector<ScratchItem>* items, uint64_t alignment);

}  // namespace heed::detail
