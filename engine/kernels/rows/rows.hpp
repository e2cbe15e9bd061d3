// Kernels that work on rows. A workgroup is lanes x rows invocations, 128 on a GPU: a long row gets all of them, short rows share a
// workgroup.
#pragma once

#include <span>

#include "kernels/choose/chooser.hpp"
#include "kernels/operations.hpp"

namespace heed::kernels {

// Adds the kernels of softmax and the norms, for rows of this length, which process groups of four elements and may keep them in registers
// (shaders/shared/row_groups.glsl). `operands` are all tensors that are read or written row by row. Binds `inputs`, then the output.
void select_rows(const Select& select, const ByStorage& ids, SizeId length, uint32_t flags,
                 std::span<const Tensor> operands, std::span<const size_t> inputs);
// Adds the kernels of operations that read rows once: argmax, embedding and rotary. add(use) binds tensors and sets its constants.
template <class Add>
void select_lanes(const Select& select, KernelId id, SizeId length, const Add& add);
// The same for operations that sum over lanes. In reproducible plans every row has 128 lanes.
template <class Add>
void select_summing_lanes(const Select& select, KernelId id, SizeId length, const Add& add);
// Appends the dispatch over `rows` rows of `length` elements; `vec4`: is_vec4 is true for all operands.
Dispatch& emit_rows(const Emit& emit, int64_t rows, int64_t length, bool vec4 = false);

// Iterates over the rows of `target`, and sets their number, length and dimensions.
template <class Params>
Walk walk_rows(const View& target, std::span<const View* const> views, Params* p) {
  Walk walk = make_walk(target, views);
  merge_dims(&walk, 1);
  p->rows = u32(walk.elements(1));
  p->n = u32(walk.dim[kMaxRank - 1]);
  put(p->dim, walk.dim, 1);
  return walk;
}

// One kernel each for short, medium and long rows; the last one supports any length.
Candidates lane_candidates(KernelId id);
// The same; but in reproducible plans only the kernel for long rows, and on drivers for CPUs, whose barriers are slow, one in which many
// rows share the barriers.
Candidates summing_candidates(const Select& select, KernelId id);
uint32_t keep_rows(const Select& select, const Candidates& candidates, SizeId length);

template <class Add>
void add_lanes(const Select& select, const Candidates& candidates, SizeId length, const Add& add) {
  add_kept(select, candidates, keep_rows(select, candidates, length), Vec4::Never,
           [&](const Candidate& candidate, bool) { add(&add_candidate(select, candidate)); });
}
template <class Add>
void select_lanes(const Select& select, KernelId id, SizeId length, const Add& add) {
  add_lanes(select, lane_candidates(id), length, add);
}
template <class Add>
void select_summing_lanes(const Select& select, KernelId id, SizeId length, const Add& add) {
  add_lanes(select, summing_candidates(select, id), length, add);
}

}  // namespace heed::kernels
