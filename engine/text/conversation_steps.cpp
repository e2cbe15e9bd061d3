// Steps of an answer: runs of the plans, and what becomes of the tokens that they draw.
#include <algorithm>

#include "base/logging.hpp"
#include "text/conversation.hpp"

namespace heed {

TextConversation::Impl::Impl(std::shared_ptr<TextGenerator::Shared> of, const TextConversationOptions& wanted)
    : shared(std::move(of)), options(wanted), date(wanted.date), stream(shared->bpe) {
  options.date = {};
}

// Runs the plan on the next tokens that the State lacks, or begins to.
Status TextConversation::Impl::launch(bool wait) {
  TextGenerator::Shared& s = *shared;
  const auto is_control = [&](int32_t id) { return s.bpe.type(id) == TokenType::Control; };
  const bool speaks = there + 1 == ids.size() && there == drawn_at && ids[there] == drawn && !is_control(drawn);
  run_count = std::min(ids.size() - there, speaks ? 1 : static_cast<size_t>(s.read));
  run_ids.assign(ids.begin() + static_cast<long>(there), ids.begin() + static_cast<long>(there + run_count));
  run_seed[0] = static_cast<int32_t>(options.sampling.seed);
  run_step[0] = draws;
  stored.resize(there);  // keys and values behind it are about to change
  drawn_at = SIZE_MAX;
  std::vector<HostBuffer> buffers = {{"settings", settings}, {"seed", run_seed}, {"step", run_step}, {"next", next}};
  std::vector<ExtentValue> extents = {{"past", static_cast<int64_t>(there)}};
  if (!speaks) {
    run_counted = run_ids;
    std::replace_if(run_counted.begin(), run_counted.end(), is_control, -1);
    buffers.emplace_back("ids", run_ids);
    buffers.emplace_back("counted", run_counted);
    extents.push_back({"tokens", static_cast<int64_t>(run_count)});
  }
  // What a grammar allows counts for the step that draws: the last one, which has read all.
  const bool guided = guide.is_on() && !ahead && there + run_count == ids.size();
  if (guided) {
    std::span<const float> bias;
    const Status status = guide.bias(s, &bias);
    if (status != Status::Ok) return status;
    buffers.emplace_back("bias", bias);
  }
  Plan& plan = guided ? (speaks ? s.guided.speaker : s.guided.reader) : speaks ? s.speaker : s.reader;
  if (wait) {
    run_status = plan.run(buffers, extents, {.state = state});
    finished = true;
    return Status::Ok;
  }
  const Status status = plan.start(buffers, extents, {.state = state}, &s.run);
  if (status == Status::Ok) s.running = this;
  return status;
}

Status TextConversation::Impl::take(TextPiece* piece) {
  finished = false;
  if (run_status != Status::Ok) return run_status;
  stored.insert(stored.end(), run_ids.begin(), run_ids.end());
  there += run_count;
  drawn_at = there;
  drawn = next[0];
  piece->done = true;
  piece->read = static_cast<int64_t>(run_count);
  if (there < ids.size()) return Status::Ok;
  if (!ahead) return take_token(drawn, piece);
  answering = ahead = false;
  return Status::Ok;
}

Status TextConversation::Impl::take_token(int32_t id, TextPiece* piece) {
  piece->token = id;
  if (id < 0)
    return fail(log(), Status::InvalidFile, shared->path + ": the logits are no numbers, so no token was drawn");
  ++draws;
  if (std::binary_search(shared->ends.begin(), shared->ends.end(), id)) {
    end_answer(TextEnd::EndOfTurn, piece);
    return Status::Ok;
  }
  std::string more;
  Status status = stream.add(id, &more);
  if (status != Status::Ok) return status;
  ids.push_back(id);
  TextEnd grammar_end = TextEnd::None;
  status = guide.take(id, *shared, &grammar_end);
  if (status != Status::Ok) return status;
  const size_t length = ids.size() - answer_at;
  if (stops.add(more, &piece->text))
    end_answer(TextEnd::StopString, piece);
  else if (grammar_end != TextEnd::None)
    end_answer(grammar_end, piece);
  else if (options.most_tokens > 0 && length >= static_cast<size_t>(options.most_tokens))
    end_answer(TextEnd::MostTokens, piece);
  else if (ids.size() > context() && !make_room())
    end_answer(TextEnd::ContextFull, piece);
  else
    answer += piece->text;
  return Status::Ok;
}

void TextConversation::Impl::end_answer(TextEnd how, TextPiece* piece) {
  std::string rest;
  stream.finish(&rest);
  if (how != TextEnd::StopString && !stops.add(rest, &piece->text)) stops.finish(&piece->text);
  answer += piece->text;
  piece->end = how;
  end = how;
  answering = false;
  keep_answer();
}

// An empty answer is no message: what was said is then still to be answered.
void TextConversation::Impl::keep_answer() {
  if (!messages.empty() && !answer.empty()) messages.push_back({"assistant", answer});
}

void TextConversation::Impl::give_up() {
  if (!ahead) keep_answer();
  answering = ahead = finished = false;
  stored.clear();
  there = 0;
  drawn_at = SIZE_MAX;
}

void TextConversation::Impl::wait() {
  if (shared->running == this) shared->settle();
}

// What was read stays read.
void TextConversation::Impl::stop_reading() {
  if (!ahead) return;
  wait();
  TextPiece piece;
  if (finished && take(&piece) != Status::Ok) give_up();
  answering = ahead = false;
}

// The conversation that had no step for the longest time comes first, if it is polled. One that is not polled any more holds up
// each of the others for one call.
bool TextConversation::Impl::may_begin() {
  std::vector<Impl*>& waiting = shared->waiting;
  if (shared->running == this) return false;
  const auto waits_longer = [&](const Impl* other) { return other != this && other->begun_at < begun_at; };
  if (shared->running == nullptr) {
    if (let_pass) std::erase_if(waiting, waits_longer);
    if (std::none_of(waiting.begin(), waiting.end(), waits_longer)) return true;
    let_pass = true;
  }
  if (std::find(waiting.begin(), waiting.end(), this) == waiting.end()) waiting.push_back(this);
  return false;
}

void TextConversation::Impl::begins() {
  for (Impl* other : shared->waiting) other->let_pass = false;
  let_pass = false;
  std::erase(shared->waiting, this);
  begun_at = ++shared->begun;
}

void TextConversation::Impl::leave() {
  wait();
  std::erase(shared->waiting, this);
}

}  // namespace heed
