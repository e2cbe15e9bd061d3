// Who shares a run, and who is waited for before one begins.
#include "text/generator/together.hpp"

#include <algorithm>

#include "base/logging.hpp"
#include "text/generator/conversation.hpp"

namespace heed {

void TextRun::clear() {
  members.clear();
  for (std::vector<int32_t>* list : {&ids, &counted, &rows, &positions, &lengths, &places, &ends, &settings, &seeds,
                                     &steps, &next, &member_of, &position_of})
    list->clear();
  buffers.clear();
  extents.clear();
  recording = nullptr;
  room = nullptr;  // which a conversation that has left may have been the last to keep
}

void TextRun::finish(Status status) {
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i] == nullptr) continue;
    members[i]->run_status = status;
    members[i]->next = next[i];
    members[i]->finished = true;
  }
  clear();
}

void TextGenerator::Shared::settle() {
  if (!run.members.empty() && run.recording == nullptr) run.finish(run.started.wait());
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
  const std::vector<Impl*>& members = shared->run.members;
  return std::find(members.begin(), members.end(), this) != members.end();
}

// Of a run that the host records nobody knows when it is over: the conversation leaves it.
void TextConversation::Impl::wait() {
  if (!takes_part()) return;
  std::vector<Impl*>& members = shared->run.members;
  if (shared->run.recording != nullptr)
    std::replace(members.begin(), members.end(), this, static_cast<Impl*>(nullptr));
  else
    shared->settle();
}

Status TextConversation::Impl::free_room() {
  if (shared->run.members.empty() || shared->run.room != room) return Status::Ok;
  if (shared->run.recording != nullptr)
    return fail(log(), Status::InvalidArgument,
                "keys and values are copied while a step is recorded; finish_step ends that");
  shared->settle();
  return Status::Ok;
}

// The next token is one that the device has drawn, and its text is there.
bool TextConversation::Impl::speaks() const {
  return there + 1 == ids.size() && there == drawn_at && ids[there] == drawn && !is_control(drawn);
}

// What a grammar allows is an input of a run for one conversation.
bool TextConversation::Impl::may_share() const { return !guide.is_on() && speaks(); }

bool TextConversation::Impl::is_ready() const { return answering && !finished && may_share(); }

// Whether a run that is over gave what may come next, if the host asks for it.
bool TextConversation::Impl::is_about_to_speak() const {
  return answering && finished && expected && !guide.is_on() && there + run_count == ids.size();
}

std::vector<TextConversation::Impl*> TextConversation::Impl::company() {
  if (!may_share()) return {this};
  std::vector<Impl*> all;
  for (Impl* other : room->rows)
    if (other == this || (other != nullptr && other->is_ready())) all.push_back(other);
  return all;
}

// A conversation waits for those that would take part in its run and whose last piece the host has not fetched yet, and for those
// that had no step for a longer time. It waits for as long as it takes the host to poll all of them; one that is not polled
// any more holds up each of the others for one call.
bool TextConversation::Impl::may_begin() {
  expected = true;
  if (!shared->run.members.empty()) return false;
  std::vector<Impl*> awaited;
  for (const std::weak_ptr<TextRoom>& one : shared->rooms) {
    const std::shared_ptr<TextRoom> other_room = one.lock();
    if (!other_room) continue;
    const bool shares = other_room == room && may_share();
    for (Impl* other : other_room->rows) {
      if (other == nullptr || other == this || !other->answering || !other->expected) continue;
      const bool is_late = shares && other->is_about_to_speak();
      const bool waits_longer = !other->finished && !(shares && other->is_ready()) && other->begun_at < begun_at;
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
  for (Impl* one : shared->run.members)
    if (one != nullptr) one->begun_at = shared->begun;
  for (const std::weak_ptr<TextRoom>& one : shared->rooms)
    if (const std::shared_ptr<TextRoom> other_room = one.lock())
      for (Impl* other : other_room->rows)
        if (other != nullptr) other->let_pass = false;
}

}  // namespace heed
