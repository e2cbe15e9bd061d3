// A plan over several frames, each within a budget of GPU time.
//
//   heed::vulkan::Cursor cursor;                      // a run begins
//   ... each frame, until cursor.done():
//   s = heed::vulkan::record_some(plan, cmd, info, 0.5, &cursor);   // about half a millisecond of it
//   ... outputs are there once the GPU has finished the last part.
#pragma once

#include <cstdint>
#include <heed/export.hpp>
#include <heed/vulkan.hpp>
#include <span>

namespace heed::vulkan {

// How far a run is. A plain value: copy it, keep it, put it back. An earlier copy may be gone on from if the
// command buffers recorded since were never submitted; the run then goes on as if they had not been. {}
// begins anew.
struct Cursor {
  bool begun() const { return run != 0; }
  bool done() const { return at_end; }

  double milliseconds = 0;  // what the last call recorded should take, by heed's estimate

  // heed's own.
  uint64_t run = 0;
  uint32_t step = 0, dispatch = 0, piece = 0;  // the next dispatch
  uint32_t slot = 0, seed = 0;
  uint64_t extents = 0, buffers = 0;  // fingerprints
  bool at_end = false;
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

// Like record, but writes only as many dispatches as should fit into `budget_ms` of GPU time, and at least
// one. The parts of a run, one after the other on one queue (or ordered by the host's semaphores), give the
// same bits as record. Frames may be skipped: nothing but the cursor remembers how far the run is.
//
// From the first part to the last, `info` stays the same, the host leaves the inputs as they are, reads no
// output, and nobody else uses the plan's scratch; the slot belongs to the run, and its parts may be in
// flight together. Synchronization is that of record, at the first part and after the last; each part orders
// itself after the one before it.
//
// Times: a plan compiled with CompileOptions::timestamps measures every pass and learns from parts that the
// GPU has finished, within the same run too; it reads them without waiting. Before, and without timestamps, a
// cost model of a slow device stands in, corrected by what other passes took. A dispatch is not cut below
// what record would submit, so that a part exceeds the budget if its first dispatch does, and by errors of
// the estimate.
//
// InvalidArgument beyond record's errors, each with the reason: the run is done; the plan was recorded, run
// or given other scratch since (its scratch no longer holds the run); extents, buffers, seed or slot differ
// from those the run began with. On failure nothing was written and the cursor is unchanged.
HEED_API Status record_some(const Plan& plan, VkCommandBuffer cmd, const RecordInfo& info, double budget_ms,
                            Cursor* cursor);

// What heed expects of a run from `cursor` on, at these extents. Allocates.
struct Estimate {
  double milliseconds = 0;
  double measured = 0;      // 0 .. 1: the share of it that rests on measured times, not on the cost model
  uint32_t dispatches = 0;  // the smallest parts
  double longest = 0;       // milliseconds of the longest dispatch: no budget below it can be kept
};
HEED_API Status estimate(const Plan& plan, std::span<const ExtentValue> extents, const Cursor& cursor,
                         Estimate* result);

}  // namespace heed::vulkan
