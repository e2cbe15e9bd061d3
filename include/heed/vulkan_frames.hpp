// Spreads a run of a plan over several frames, with a budget of GPU time for each.
//
//   heed::vulkan::Cursor cursor;                                     // a run begins
//   ... in each frame, until cursor.done():
//   s = heed::vulkan::record_some(plan, cmd, info, 0.5, &cursor);    // about half a millisecond of the run
//   ... the outputs are there when the GPU has finished the last part.
#pragma once

#include <cstdint>
#include <span>

#include <heed/export.hpp>
#include <heed/vulkan.hpp>

namespace heed::vulkan {

// How far a run has been recorded. A plain value that may be copied. A run may continue from an earlier copy if the command buffers that
// were recorded since are never submitted. A Cursor{} begins a new run.
struct Cursor {
  // begun: a part of the run was recorded. done: all of it was.
  bool begun() const { return run != 0; }
  bool done() const { return at_end; }

  double milliseconds = 0;  // heed's estimate for the part that the last call recorded

  // Private to heed.
  uint64_t run = 0;
  uint32_t pass = 0, dispatch = 0, piece = 0;  // the next dispatch
  uint32_t slot = 0, seed = 0;                 // as in the run's RecordInfo
  uint64_t extents = 0, buffers = 0;           // fingerprints
  bool at_end = false;                         // the last part is recorded
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

// Does what record does, but writes only the dispatches that should fit into `budget_ms` of GPU time, and at least one. The parts of a run,
// one after the other on one queue or ordered by the host's semaphores, give the same bits as record. Frames may be skipped: only the
// cursor stores how far the run is.
//
// From the first part to the last, `info` must stay the same, the host must not change the inputs nor read the outputs, and and nothing
// else may use the plan's scratch. The slot belongs to the run, whose parts may be in flight together. The host synchronizes before the
// first part and after the last one, as for record; each part orders itself after the one before it.
//
// Times come from CompileOptions::timestamps: such a plan measures every pass, and reads the times of finished parts without waiting, also
// within a run. Until a pass was measured, and without timestamps, heed estimates it by a cost model of a slow device, corrected by the
// times of other passes. A part can exceed the budget if the estimate is wrong, or if its first dispatch alone takes longer, because
// dispatches are not split further than record splits them.
//
// Besides the errors of record, InvalidArgument with a reason: the run is done; the plan was recorded, run or given other scratch since, so
// that the run's intermediate results are lost; another run has used the State since, or a call has written it; extents, buffers, seed or
// slot differ from those that the run began with. After a failure nothing was written and the cursor is unchanged.
HEED_API Status record_some(const Plan& plan, VkCommandBuffer cmd, const RecordInfo& info, double budget_ms,
                            Cursor* cursor);

// heed's estimate of the rest of a run from `cursor` on, at these extents. Allocates memory.
struct Estimate {
  double milliseconds = 0;
  double measured = 0;      // 0 to 1: the share of the estimate that comes from measured times; the rest comes from the
                            // cost model
  uint32_t dispatches = 0;  // the most parts that the rest can be split into
  double longest = 0;       // milliseconds of the longest dispatch: smaller budgets cannot be kept
};
HEED_API Status estimate(const Plan& plan, std::span<const ExtentValue> extents, const Cursor& cursor,
                         Estimate* result);

}  // namespace heed::vulkan
