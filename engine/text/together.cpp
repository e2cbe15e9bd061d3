// Who shares a run, and who is waited for before one begins.
#include "text/together.hpp"

#include <algorithm>

#include "text/conversation.hpp"

namespace heed {

RowRange rows_of_run(const std::vector<bool>& ready, size_t own) {
  RowRange best{own, 1};
  size_t most = 1;
  size_t before = 0;  // rows first .. own - 1 that are ready
  for (size_t first = own + 1; first-- > 0;) {
    if (first < own && !ready[first]) continue;
    if (first < own) ++before;
    size_t count = before + 1;
    for (size_t last = own; last < ready.size(); ++last) {
      if (last > own && !ready[last]) continue;
      if (last > own) ++count;
      const size_t rows = last - first + 1;
      if (2 * count < rows || count < most || (count == most && rows >= best.count)) continue;
      most = count;
      best = {first, rows};
    }
  }
  return best;
}

void TextRun::clear() {
  rows.clear();
  for (std::vector<int32_t>* list : {&ids, &counted, &positions, &ends, &settings, &seeds, &steps, &next})
    list->clear();
}

void TextRun::finish(Status status) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == nullptr) continue;
    rows[i]->run_status = status;
    rows[i]->next = next[i];
    rows[i]->finished = true;
  }
  rows.clear();
}

void TextGenerator::Shared::settle() {
  if (!run.rows.empty()) run.finish(run.started.wait());
}

Status TextConversation::Impl::take_seat() {
  std::vector<std::weak_ptr<TextRoom>>& rooms = shared->rooms;
  std::erase_if(rooms, [](const std::weak_ptr<TextRoom>& one) { return one.expired(); });
  for (const std::weak_ptr<TextRoom>& one : rooms) {
    room = one.lock();
    const auto free = std::find(room->rows.begin(), room->rows.end(), nullptr);
    row = static_cast<size_t>(free - room->rows.begin());
    if (free == room->rows.end()) continue;
    *free = this;
    return Status::Ok;
  }
  auto fresh = std::make_shared<TextRoom>();
  room = nullptr;
  const Status status = shared->reader.make_state(&fresh->state);
  if (status != Status::Ok) return status;
  fresh->rows.assign(static_cast<size_t>(shared->together), nullptr);
  fresh->rows[0] = this;
  rooms.push_back(fresh);
  room = std::move(fresh);
  row = 0;
  return Status::Ok;
}

void TextConversation::Impl::leave() {
  wait();
  if (room) room->rows[row] = nullptr;
  room = nullptr;
}

bool TextConversation::Impl::takes_part() const {
  const std::vector<Impl*>& rows = shared->run.rows;
  return std::find(rows.begin(), rows.end(), this) != rows.end();
}

void TextConversation::Impl::wait() {
  if (takes_part()) shared->settle();
}

void TextConversation::Impl::free_room() {
  const std::vector<Impl*>& rows = shared->run.rows;
  if (std::any_of(rows.begin(), rows.end(), [&](const Impl* one) { return one != nullptr && one->room == room; }))
    shared->settle();
}

// The next token is one that the device has drawn, and its text is there.
bool TextConversation::Impl::speaks() const {
  return there + 1 == ids.size() && there == drawn_at && ids[there] == drawn && !is_control(drawn);
}

bool TextConversation::Impl::is_ready() const { return answering && !finished && speaks(); }

// Whether a run that is over gave what may come next, if the host asks for it.
bool TextConversation::Impl::is_about_to_speak() const {
  return answering && finished && expected && there + run_count == ids.size();
}

RowRange TextConversation::Impl::company(bool with_late) const {
  if (!speaks()) return {row, 1};
  std::vector<bool> ready(room->rows.size());
  for (size_t i = 0; i < ready.size(); ++i) {
    const Impl* other = room->rows[i];
    ready[i] = other != nullptr && (other->is_ready() || (with_late && other->is_about_to_speak()));
  }
  return rows_of_run(ready, row);
}

// A conversation waits for those that would take part in its run and whose last piece the host has not fetched yet, and for those
// that had no step for a longer time. It waits for as long as it takes the host to poll all of them; one that is not polled
// any more holds up each of the others for one call.
bool TextConversation::Impl::may_begin() {
  expected = true;
  if (!shared->run.rows.empty()) return false;
  const RowRange late = company(true), run = company(false);
  std::vector<Impl*> awaited;
  for (const std::weak_ptr<TextRoom>& one : shared->rooms) {
    const std::shared_ptr<TextRoom> other_room = one.lock();
    if (!other_room) continue;
    for (Impl* other : other_room->rows) {
      if (other == nullptr || other == this || !other->answering || !other->expected) continue;
      const bool here = other_room == room;
      const bool is_late = here && speaks() && late.has(other->row) && other->is_about_to_speak();
      const bool is_served = here && speaks() && run.has(other->row) && other->is_ready();
      const bool waits_longer = !other->finished && !is_served && other->begun_at < begun_at;
      if (is_late || waits_longer) awaited.push_back(other);
    }
  }
  if (awaited.empty()) return true;
  if (let_pass)
    for (Impl* other : awaited) other->expected = false;
  const bool may = let_pass;
  let_pass = true;
  return may;
}

void TextConversation::Impl::begins() {
  ++shared->begun;
  for (Impl* one : shared->run.rows)
    if (one != nullptr) one->begun_at = shared->begun;
  for (const std::weak_ptr<TextRoom>& one : shared->rooms)
    if (const std::shared_ptr<TextRoom> other_room = one.lock())
      for (Impl* other : other_room->rows)
        if (other != nullptr) other->let_pass = false;
}

}  // namespace heed
