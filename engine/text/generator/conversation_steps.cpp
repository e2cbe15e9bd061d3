// Steps of an answer: runs of the plans, and the tokens that they draw.
#include <algorithm>

#include "base/logging.hpp"
#include "text/generator/conversation.hpp"

namespace heed {

TextConversation::Impl::Impl(std::shared_ptr<TextGenerator::Shared> of, const TextConversationOptions& wanted)
    : shared(std::move(of)), options(wanted), date(wanted.date), stream(shared->bpe) {
  options.date = {};
}

// Adds this conversation to a run as a member.
void TextConversation::Impl::join(TextRun* run, bool speaks) {
  run_count = std::min(ids.size() - there, speaks ? 1 : static_cast<size_t>(shared->read));
  run_ids.assign(ids.begin() + static_cast<long>(there), ids.begin() + static_cast<long>(there + run_count));
  stored.resize(there);              // keys and values after it are about to change
  if (!speaks) drawn_at = SIZE_MAX;  // and the counts of repetition, too
  const auto place = static_cast<int32_t>(row * (context() + 1) + there), at = static_cast<int32_t>(there);
  run->members.push_back(this);
  run->rows.push_back(static_cast<int32_t>(row));
  run->positions.push_back(at);
  run->lengths.push_back(at + 1);
  run->places.push_back(place);
  run->ends.push_back(place + 1);
  run->settings.insert(run->settings.end(), settings.begin(), settings.end());
  run->seeds.push_back(static_cast<int32_t>(options.sampling.seed));
  run->steps.push_back(draws);
}

// Prepares a run on the next tokens that the State lacks. Other conversations that are ready to decode become members, too.
Status TextConversation::Impl::prepare() {
  TextGenerator::Shared& s = *shared;
  TextRun& run = s.run;
  const TextRun& given = run;  // const, so that its buffers are inputs
  run.clear();
  const bool speaks = this->speaks();
  for (Impl* member : company()) member->join(&run, speaks);
  const size_t count = run.members.size();
  run.batch = batch;
  run.plan = !speaks ? s.prefill : count > 1 ? s.batch_decode : s.decode;
  run.next.assign(count, -1);
  run.buffers = {{"settings", given.settings}, {"seed", given.seeds}, {"step", given.steps}, {"next", run.next}};
  const auto give = [&](std::initializer_list<HostBuffer> more) {
    run.buffers.insert(run.buffers.end(), more.begin(), more.end());
  };
  run.extents = {{"past", *std::max_element(run.positions.begin(), run.positions.end())}};
  if (count > 1) {
    run.member_of.assign(batch->rows.size(), -1);
    run.position_of.assign(batch->rows.size(), -1);
    for (size_t i = 0; i < count; ++i) {
      run.member_of[run.members[i]->row] = static_cast<int32_t>(i);
      run.position_of[run.members[i]->row] = run.positions[i];
    }
    give({{"rows", given.rows}, {"positions", given.positions}, {"lengths", given.lengths}, {"places", given.places}});
    give({{"ends", given.ends}, {"member_of", given.member_of}, {"position_of", given.position_of}});
    run.extents.push_back({"members", static_cast<int64_t>(count)});
  } else if (s.together > 1) {
    run.extents.push_back({"row", static_cast<int64_t>(row)});
  }
  if (!speaks) {
    run.ids = run.counted = run_ids;
    std::replace_if(run.counted.begin(), run.counted.end(), [&](int32_t id) { return is_control(id); }, -1);
    give({{"ids", given.ids}, {"counted", given.counted}});
    run.extents.push_back({"tokens", static_cast<int64_t>(run_count)});
  }
  // A grammar limits only the step that draws a token, which is the one that reads the last token of the text.
  if (!guide.is_on() || ahead || there + run_count < ids.size()) return Status::Ok;
  std::span<const float> bias;
  const Status status = guide.bias(s, &bias);
  if (status != Status::Ok) {
    run.clear();
    return status;
  }
  give({{"bias", bias}});
  run.plan = speaks ? s.guided.decode : s.guided.prefill;
  return Status::Ok;
}

// Runs the prepared run, or starts it without waiting.
Status TextConversation::Impl::launch(bool wait) {
  const Status ready = prepare();
  if (ready != Status::Ok) return ready;
  TextRun& run = shared->run;
  if (wait) {
    run.finish(run.plan.run(run.buffers, run.extents, {.state = batch->state}));
    return Status::Ok;
  }
  const Status status = run.plan.start(run.buffers, run.extents, {.state = batch->state}, &run.started);
  if (status != Status::Ok) run.clear();
  return status;
}

Status TextConversation::Impl::take(TextPiece* piece) {
  finished = false;
  if (run_status != Status::Ok) return run_status;
  stored.insert(stored.end(), run_ids.begin(), run_ids.end());
  there += run_count;
  drawn_at = there;
  drawn = next;
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
    return fail(log(), Status::InvalidFile,
                shared->path + ": all logits are NaN or minus infinity, so no token was drawn");
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

// An empty answer does not become a message: the user's message still has no answer.
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

// Keys and values of tokens that were read are kept.
void TextConversation::Impl::stop_reading() {
  if (!ahead) return;
  wait();
  TextPiece piece;
  if (finished && take(&piece) != Status::Ok) give_up();
  answering = ahead = false;
}

}  // namespace heed
