// The steps between a Graph and a Schedule. Each works on a private copy of the graph's data.
#pragma once

#include <vector>

#include "graph/graph_data.hpp"
#include "graph/schedule.hpp"

namespace heed::detail {

// Replaces Op::Attention by matmul, softmax, dropout, matmul, except where the options keep it.
void lower_attention(GraphData* graph, const ScheduleOptions& options);
// Takes out every dropout that does nothing: all of them unless training, and p == 0.
void remove_idle_dropout(GraphData* graph, bool training);
// Drops nodes whose results no output needs.
void remove_dead_nodes(GraphData* graph);
// Moves bias, activation, dropout and residual into the matmul before them, a residual into the norm after it,
// and scale and activation into the elementwise operation before them. Leaves out copies behind attention (see the options).
void fuse(GraphData* graph, const ScheduleOptions& options);
// Moves rows apart that lie a multiple of `pitch` bytes from each other and that a matmul reads side by side, by two cache
// lines each: they share a few places in the first cache, and throw each other out. 0: nothing.
void spread_rows(GraphData* graph, int64_t pitch);
// Makes every output a storage of its own: adds copies where an output is a view, an input, or given twice.
void isolate_outputs(GraphData* graph);

// Who reads what; views count for their storage.
struct Uses {
  explicit Uses(const GraphData& graph);
  struct Reader {
    size_t node;
    size_t input;
  };
  std::vector<std::vector<Reader>> readers;  // by storage id
  std::vector<bool> is_output;               // by storage id
  std::vector<int64_t> producer;             // node that writes the storage, or -1

  // The only node that reads the storage, if there is just one reading and it is no output; otherwise null.
  const Reader* only_reader(uint32_t storage) const;
};

// Offsets into scratch such that storages whose lives overlap do not. Fills Placement::offset of Space::Scratch;
// returns the bytes needed. Lives are in steps: [first, last].
struct ScratchItem {
  uint64_t bytes = 0;
  size_t first = 0, last = 0;
  uint64_t offset = 0;  // out
};
uint64_t place_scratch(std::vector<ScratchItem>* items, uint64_t alignment);

}  // namespace heed::detail
