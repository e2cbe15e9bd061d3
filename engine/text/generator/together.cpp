// Which conversations share a run, and for which of them a run waits.
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
  batch = nullptr;  // a conversation that has left may have kept it alive
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
  std::vector<std::weak_ptr<BatchState>>& batches = shared->batches;
  std::erase_if(batches, [](const std::weak_ptr<BatchState>& one) { return one.expired(); });
  for (const std::weak_ptr<BatchState>& one : batches) {
    batch = one.lock();
    const auto free = std::find(batch->rows.begin(), batch->rows.end(), nullptr);
    row = static_cast<size_t>(free - batch->rows.begin());
    if (free == batch->rows.end()) continue;
    *free = this;
    return Status::Ok;
  }
  auto fresh = std::make_shared<BatchState>();
  batch = nullptr;
  const Status status = shared->prefill.make_state(&fresh->state);
  if (status != Status::Ok) return status;
  fresh->rows.assign(static_cast<size_t>(shared->together), nullptr);
  fresh->rows[0] = this;
  batches.push_back(fresh);
  batch = std::move(fresh);
  row = 0;
  return Status::Ok;
}

void TextConversation::Impl::leave() {
  wait();
  if (batch) batch->rows[row] = nullptr;
  batch = nullptr;
}

bool TextConversation::Impl::takes_part() const {
  const std::vector<Impl*>& members = shared->run.members;
  return std::find(members.begin(), members.end(), this) != members.end();
}

// A run that the host records may never end, so the conversation leaves it instead of waiting.
void TextConversation::Impl::wait() {
  if (!takes_part()) return;
  std::vector<Impl*>& members = shared->run.members;
  if (shared->run.recording != nullptr)
    std::replace(members.begin(), members.end(), this, static_cast<Impl*>(nullptr));
  else
    shared->settle();
}

Status TextConversation::Impl::free_room() {
  if (shared->run.members.empty() || shared->run.batch != batch) return Status::Ok;
  if (shared->run.recording != nullptr)
    return fail(log(), Status::InvalidArgument,
                "keys and values are copied while a step is recorded; finish_step ends that");
  shared->settle();
  return Status::Ok;
}

// Whether the next token was drawn on the device and is in the State's text.
bool TextConversation::Impl::speaks() const {
  return there + 1 == ids.size() && there == drawn_at && ids[there] == drawn && !is_control(drawn);
}

// The mask of a grammar is an input for one conversation only.
bool TextConversation::Impl::may_share() const { return !guide.is_on() && speaks(); }

bool TextConversation::Impl::is_ready() const { return answering && !finished && may_share(); }

// Whether the result of a finished run, once fetched, lets this conversation decode again.
bool TextConversation::Impl::is_about_to_speak() const {
  return answering && finished && expected && !guide.is_on() && there + run_count == ids.size();
}

std::vector<TextConversation::Impl*> TextConversation::Impl::company() {
  if (!may_share()) return {this};
  std::vector<Impl*> all;
  for (Impl* other : batch->rows)
    if (other == this || (other != nullptr && other->is_ready())) all.push_back(other);
  return all;
}

// A conversation waits for those that would join its run and whose last piece the host has not fetched, and for those whose last step is
// older. The wait ends when the host has polled all of them; one that is no longer polled delays each of the others by one call.
bool TextConversation::Impl::may_begin() {
  expected = true;
  if (!shared->run.members.empty()) return false;
  std::vector<Impl*> awaited;
  for (const std::weak_ptr<BatchState>& one : shared->batches) {
    const std::shared_ptr<BatchState> other_batch = one.lock();
    if (!other_batch) continue;
    const bool shares = other_batch == batch && may_share();
    for (Impl* other : other_batch->rows) {
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
  for (const std::weak_ptr<BatchState>& one : shared->batches)
    if (const std::shared_ptr<BatchState> other_batch = one.lock())
      for (Impl* other : other_batch->rows)
        if (other != nullptr) other->let_pass = false;
}

}  // namespace heed
