#include "kernels/rows/rows.hpp"

#include <algorithm>

namespace heed::kernels {
namespace {

constexpr size_t kFlags = SoftmaxConstants::FLAGS, kHeld = RowGroupConstants::HELD;
static_assert(kFlags == NormConstants::FLAGS);

// The most groups of four that a lane keeps in registers; longer rows are read again in every loop. On a GPU 32 elements leave registers
// for many workgroups at once.
constexpr uint32_t kMostHeld = 8;
constexpr uint32_t kRowInvocations = HEED_ROW_INVOCATIONS;
constexpr const char* kLongRows = "long rows: a workgroup each";
// The cost of a kernel that reads rows again: more than that of any other, which is the number of elements that a row can have.
constexpr double kReadAgain = 1e9;

uint32_t groups_of(int64_t length, uint32_t lanes) { return u32(ceil_div<int64_t>(length, int64_t{4} * lanes)); }

// Adds a kernel for rows of up to `most` elements. `lanes` invocations work on each of the `rows` rows of a workgroup.
Candidate& add_shape(Candidates* candidates, KernelId id, uint32_t lanes, uint32_t rows, int64_t most,
                     const char* why) {
  Candidate& one = candidates->add(id, {lanes, rows, 1});
  one.traits.rows = rows;
  one.traits.most = most;
  one.traits.group = most == INT64_MAX ? kReadAgain : static_cast<double>(most);
  one.why = why;
  return one;
}

// Adds a kernel whose lanes keep `held` groups of four elements each; 0: none, for rows of any length.
void add_held(Candidates* candidates, uint32_t lanes, uint32_t rows, uint32_t held, const char* why) {
  add_shape(candidates, {}, lanes, rows, held == 0 ? INT64_MAX : int64_t{4} * lanes * held, why)
      .set(kHeld, held)
      .reads_vec4 = true;
}

// Short rows share a workgroup.
Candidates gpu_candidates(int64_t longest) {
  Candidates candidates;
  add_held(&candidates, 8, 16, 1, "short rows: 16 per workgroup, kept in registers");
  add_held(&candidates, 32, 4, 2, "4 rows per workgroup, kept in registers");
  const uint32_t most = groups_of(longest, kRowInvocations);
  add_held(&candidates, kRowInvocations, 1, std::min(most, kMostHeld), "a workgroup per row, kept in registers");
  if (most > kMostHeld)
    add_held(&candidates, kRowInvocations, 1, 0, "a workgroup per row, read in every walk: too long to keep");
  return candidates;
}

// Reproducible plans sum a row with 32 lanes, whatever its length.
Candidates canon_candidates(int64_t longest) {
  constexpr uint32_t kLanes = 32, kRows = HEED_ROW_INVOCATIONS / kLanes;
  Candidates candidates;
  const uint32_t most = groups_of(longest, kLanes);
  add_held(&candidates, kLanes, kRows, std::min(most, kMostHeld),
           "4 rows per workgroup, added up in one order everywhere");
  if (most > kMostHeld)
    add_held(&candidates, kLanes, kRows, 0, "4 rows per workgroup, added up in one order everywhere");
  return candidates;
}

// Whether the variant with subgroup operations may be used.
bool may_use_subgroups(const Select& select, KernelId id) {
  return select.device.subgroup_arithmetic && select.device.allows(kernel_info(id).subgroup);
}

}  // namespace

Candidates lane_candidates(KernelId id) {
  Candidates candidates;
  add_shape(&candidates, id, 8, 16, 32, "short rows: 16 per workgroup");
  add_shape(&candidates, id, 32, 4, 256, "4 rows per workgroup");
  add_shape(&candidates, id, kRowInvocations, 1, INT64_MAX, kLongRows);
  return candidates;
}

Candidates summing_candidates(const Select& select, KernelId id) {
  if (!select.reproducible()) return lane_candidates(id);
  Candidates candidates;
  add_shape(&candidates, id, kRowInvocations, 1, INT64_MAX, kLongRows);
  return candidates;
}

uint32_t keep_rows(const Select& select, const Candidates& candidates, SizeId length) {
  const auto problem_at = [&](std::span<const int64_t> sizes) {
    return RowProblem{sizes[static_cast<size_t>(length)]};
  };
  return keep(select.need(), candidates, 1, problem_at, length);
}

void select_rows(const Select& select, const ByStorage& ids, SizeId length, uint32_t flags,
                 std::span<const Tensor> operands, std::span<const size_t> inputs) {
  const int64_t longest = select.max_of(length);
  const KernelId plain = ids.of(select.out().dtype);
  const bool subgroups = may_use_subgroups(select, plain);
  const Candidates candidates = select.reproducible() ? canon_candidates(longest) : gpu_candidates(longest);
  Vec4 known = Vec4::Always;
  for (const Tensor tensor : operands) known = worse(known, vec4_of(select, tensor));
  add_kept(select, candidates, keep_rows(select, candidates, length), known, [&](Candidate candidate, bool vec4) {
    // Lanes are whole subgroups only if a row has the whole workgroup.
    const bool reduces = subgroups && candidate.traits.rows == 1;
    candidate.key.id = reduces ? kernel_info(plain).subgroup : plain;
    candidate.set(kFlags, flags).set(RowGroupConstants::VEC4, vec4);
    bind(select, &add_candidate(select, candidate), inputs);
  });
}

Dispatch& emit_rows(const Emit& emit, int64_t rows, int64_t length, bool vec4) {
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = choose(emit.kernels, RowProblem{length, vec4});
  dispatch.groups = fold_groups(ceil_div<int64_t>(rows, emit.kernels.uses[dispatch.kernel].traits.rows));
  return dispatch;
}

}  // namespace heed::kernels
