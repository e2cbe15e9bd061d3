// Conversations whose steps share a run: they are rows of one State, side by side.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <heed/text_generator.hpp>

namespace heed {

// The rows of a State for which conversations lie there.
struct TextRoom {
  State state;
  std::vector<TextConversation::Impl*> rows;  // null: nobody has this row
};

// The run under way, which is at most one, as a plan has one scratch. Its buffers stay where they are meanwhile.
struct TextRun {
  StartedRun started;
  std::shared_ptr<void> recording;  // of a run that the host records into its frames; see frames/record_step.cpp
  std::shared_ptr<TextRoom> room;
  std::vector<TextConversation::Impl*> members;  // who takes part; none: no run is under way. Null: one has left
  std::vector<int32_t> ids, counted;             // of a run that reads
  // A number for each member, or a row of settings. `places` and `ends` are where a member's last token and what comes behind it lie in
  // the texts of the whole room.
  std::vector<int32_t> rows, positions, lengths, places, ends, settings, seeds, steps, next;
  // For each row of the room: which member it is, and at which position; -1: none.
  std::vector<int32_t> member_of, position_of;
  // What the plan is given: buffers of the above.
  Plan plan;
  std::vector<HostBuffer> buffers;
  std::vector<ExtentValue> extents;

  void clear();
  // Gives each that takes part what the run left for it.
  void finish(Status status);
};

}  // namespace heed
