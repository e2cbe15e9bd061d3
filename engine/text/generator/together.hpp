// Batched decoding: conversations whose steps share a run are rows of one State.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <heed/text_generator.hpp>

namespace heed {

// A State whose rows belong to conversations.
struct BatchState {
  State state;
  std::vector<TextConversation::Impl*> rows;  // null: the row is free
};

// The current run; there is at most one, as plans share one scratch. Its buffers keep their addresses until it ends.
struct TextRun {
  StartedRun started;
  std::shared_ptr<void> recording;  // for a run that the host records into its frames; see frames/record_step.cpp
  std::shared_ptr<BatchState> batch;
  std::vector<TextConversation::Impl*> members;  // empty: there is no current run; null: the member has left
  std::vector<int32_t> ids, counted;             // for a run that reads a prompt
  // One element for each member, or a row of settings. `places` and `ends` are the indices of a member's last token and of the next one in
  // the texts of the whole batch.
  std::vector<int32_t> rows, positions, lengths, places, ends, settings, seeds, steps, next;
  // For each row of the batch: its index among the members, and the position of its token; -1: not a member.
  std::vector<int32_t> member_of, position_of;
  // Arguments of the run: buffers of the vectors above.
  Plan plan;
  std::vector<HostBuffer> buffers;
  std::vector<ExtentValue> extents;

  void clear();
  // Stores the run's results in its members.
  void finish(Status status);
};

}  // namespace heed
