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

// Rows first .. first + count - 1 of a room.
struct RowRange {
  size_t first = 0, count = 1;
  bool has(size_t row) const { return row >= first && row < first + count; }
};

// The rows of a run for row `own`: as many rows that are ready as there are around it, where a run of consecutive rows must be
// ready in at least half of them. A row that is not ready costs its part of each product and gives nothing.
RowRange rows_of_run(const std::vector<bool>& ready, size_t own);

// The run under way, which is at most one, as a plan has one scratch. Its buffers stay where they are meanwhile.
struct TextRun {
  StartedRun started;
  size_t first = 0;                           // the row of rows[0]
  std::vector<TextConversation::Impl*> rows;  // who takes part; null: nobody in this row. Empty: no run is under way
  std::vector<int32_t> ids, counted;          // of a run that reads
  // A number for each row, or a row of settings.
  std::vector<int32_t> positions, ends, settings, seeds, steps, next;

  void clear();
  // Gives each that takes part what the run left for it.
  void finish(Status status);
};

}  // namespace heed
