// The calls of a TextConversation.
#include <algorithm>
#include <cmath>

#include "base/logging.hpp"
#include "base/utf8.hpp"
#include "text/generator/conversation.hpp"

namespace heed {

namespace {

Status settings_of(const TextSampling& sampling, const Log& log, SampleWords* words) {
  SampleOptions options;
  options.repetition_penalty = sampling.repetition_penalty;
  options.temperature = sampling.temperature;
  options.top_k = sampling.top_k;
  options.top_p = sampling.top_p;
  options.min_p = sampling.min_p;
  const Status status = sample_words(options, words);
  if (status == Status::Ok) return status;
  return fail(log, status,
              format("a setting of sampling is out of range: temperature %g, top_k %lld, top_p %g, min_p %g, "
                     "repetition_penalty %g",
                     static_cast<double>(sampling.temperature), static_cast<long long>(sampling.top_k),
                     static_cast<double>(sampling.top_p), static_cast<double>(sampling.min_p),
                     static_cast<double>(sampling.repetition_penalty)));
}

Status check(const TextConversationOptions& options, int64_t context, const Log& log) {
  const auto refuse = [&](const std::string& why) { return fail(log, Status::InvalidArgument, why); };
  if (options.most_tokens < 0) return refuse("most_tokens is negative");
  if (options.keep_tokens < 0 || options.keep_tokens > context / 2)
    return refuse(format("%lld tokens to keep; must be 0 to half of the context, %lld",
                         static_cast<long long>(options.keep_tokens), static_cast<long long>(context / 2)));
  if (options.overflow > TextOverflow::Stop) return refuse("overflow is no value of TextOverflow");
  if (!is_utf8(options.system)) return refuse("the system message is not UTF-8");
  for (const std::string& stop : options.stop)
    if (stop.empty() || !is_utf8(stop)) return refuse("a stop string is empty, or is not UTF-8");
  return Status::Ok;
}

}  // namespace

TextConversation::TextConversation() = default;
TextConversation::TextConversation(TextConversation&&) noexcept = default;
TextConversation::~TextConversation() {
  if (impl_) impl_->leave();
}
TextConversation& TextConversation::operator=(TextConversation&& other) noexcept {
  if (this == &other) return *this;
  if (impl_) impl_->leave();
  impl_ = std::move(other.impl_);
  return *this;
}

Status TextGenerator::begin(const TextConversationOptions& options, TextConversation* conversation) const {
  if (!valid() || conversation == nullptr)
    return refuse("TextGenerator::begin: the TextGenerator is empty, or conversation is null");
  const Log& log = shared_->log;
  Status status = check(options, shared_->context, log);
  if (status != Status::Ok) return status;
  TextConversation fresh;
  fresh.impl_ = std::make_unique<TextConversation::Impl>(shared_, options);
  status = settings_of(options.sampling, log, &fresh.impl_->settings);
  if (status == Status::Ok) status = fresh.impl_->guide.open(options.grammar, shared_.get());
  if (status == Status::Ok) status = fresh.impl_->take_seat();
  if (status != Status::Ok) return status;
  if (!options.system.empty()) fresh.impl_->messages.push_back({"system", options.system});
  *conversation = std::move(fresh);
  return Status::Ok;
}

Status TextConversation::say(std::string_view text) {
  if (!valid()) return refuse("TextConversation::say: the TextConversation is empty");
  impl_->stop_reading();
  std::vector<TextMessage>& messages = impl_->messages;
  const std::vector<TextMessage> before = messages;
  Status status = Status::Ok;
  if (!messages.empty() && messages.back().role == "user" && !answering() && is_utf8(text))
    messages.back().content.append("\n").append(text);
  else
    status = add("user", text);
  if (status == Status::Ok) status = answer_now();
  if (status != Status::Ok) messages = before;
  return status;
}

Status TextConversation::add(std::string_view role, std::string_view text) {
  if (!valid()) return refuse("TextConversation::add: the TextConversation is empty");
  Impl& c = *impl_;
  c.stop_reading();
  if (c.answering) return fail(c.log(), Status::InvalidArgument, "an answer goes on; cancel() ends it");
  if (c.messages.empty() && !c.ids.empty())
    return fail(c.log(), Status::InvalidArgument, "a message in a conversation of raw text; reset() forgets that");
  if (!c.shared->chat) return fail(c.log(), Status::Unsupported, c.shared->chat_problem);
  Status status = c.check_text(role, "a role");
  if (status == Status::Ok) status = c.check_text(text, "a message");
  if (status == Status::Ok) c.messages.push_back({std::string(role), std::string(text)});
  return status;
}

Status TextConversation::prompt(std::string_view text, const BpeOptions& options) {
  if (!valid()) return refuse("TextConversation::prompt: the TextConversation is empty");
  const Impl& c = *impl_;
  Status status = c.check_text(text, "a prompt");
  std::vector<int32_t> more;
  BpeOptions chosen = options;
  chosen.add_special = options.add_special && c.ids.empty();
  if (status == Status::Ok) status = c.shared->bpe.encode(text, chosen, &more);
  return status == Status::Ok ? prompt(more) : status;
}

Status TextConversation::prompt(std::span<const int32_t> ids) {
  if (!valid()) return refuse("TextConversation::prompt: the TextConversation is empty");
  Impl& c = *impl_;
  c.stop_reading();
  if (c.answering) return fail(c.log(), Status::InvalidArgument, "an answer goes on; cancel() ends it");
  if (!c.messages.empty()) return fail(c.log(), Status::InvalidArgument, "a raw text in a conversation of messages");
  if (ids.empty()) return fail(c.log(), Status::InvalidArgument, "a prompt of no tokens");
  const size_t tokens = c.shared->bpe.size();
  for (const int32_t id : ids)
    if (id < 0 || static_cast<size_t>(id) >= tokens)
      return fail(c.log(), Status::InvalidArgument,
                  format("token %d of a prompt; the model has tokens 0 to %zu", id, tokens - 1));
  return c.ask_raw(ids);
}

Status TextConversation::answer_now() {
  if (!valid()) return refuse("TextConversation::answer_now: the TextConversation is empty");
  Impl& c = *impl_;
  c.stop_reading();
  if (c.answering) return fail(c.log(), Status::InvalidArgument, "an answer goes on already");
  if (c.messages.empty()) return c.ask_raw({});
  return c.ask();
}

Status TextConversation::read_ahead() {
  if (!valid()) return refuse("TextConversation::read_ahead: the TextConversation is empty");
  Impl& c = *impl_;
  if (c.ahead) return Status::Ok;
  if (c.answering) return fail(c.log(), Status::InvalidArgument, "an answer goes on already");
  std::vector<int32_t> fresh = c.ids;
  const Status status = c.messages.empty() ? Status::Ok : c.render(c.messages, false, &fresh);
  if (status != Status::Ok || fresh.empty() || fresh.size() > c.context()) return status;
  c.set_ids(std::move(fresh));
  const bool all = c.stored.size() >= c.ids.size() && std::equal(c.ids.begin(), c.ids.end(), c.stored.begin());
  c.answering = c.ahead = !all;
  return Status::Ok;
}

Status TextConversation::step(TextPiece* piece) {
  if (!valid() || piece == nullptr)
    return refuse("TextConversation::step: the TextConversation is empty, or piece is null");
  Impl& c = *impl_;
  *piece = {};
  if (!c.answering) return fail(c.log(), Status::InvalidArgument, "there is no answer to go on with");
  if (c.shared->in_frames)
    return fail(c.log(), Status::InvalidArgument,
                "steps of this model are recorded into frames; poll() gives their results");
  c.shared->settle();
  Status status = c.finished ? Status::Ok : c.launch(true);
  if (status == Status::Ok) status = c.take(piece);
  if (status != Status::Ok) c.give_up();
  return status;
}

Status TextConversation::poll(TextPiece* piece) {
  if (!valid() || piece == nullptr)
    return refuse("TextConversation::poll: the TextConversation is empty, or piece is null");
  Impl& c = *impl_;
  TextGenerator::Shared& s = *c.shared;
  *piece = {};
  if (!c.answering) return fail(c.log(), Status::InvalidArgument, "there is no answer to go on with");
  if (s.run.started.done()) s.settle();
  Status status = c.finished ? c.take(piece) : Status::Ok;
  if (status == Status::Ok && c.answering && !s.in_frames && c.may_begin()) {
    status = c.launch(false);
    if (status == Status::Ok) c.begins();
  }
  if (status != Status::Ok) c.give_up();
  return status;
}

void TextConversation::cancel() {
  if (!valid()) return;
  impl_->stop_reading();
  if (!impl_->answering) return;
  Impl& c = *impl_;
  c.wait();
  c.finished = c.answering = false;
  c.end = TextEnd::Cancelled;
  c.keep_answer();
}

bool TextConversation::answering() const { return valid() && impl_->answering; }
const std::string& TextConversation::answer() const {
  // Never destroyed, so that no destructor runs at the end of the program.
  static const std::string& kNone = *new std::string;
  return valid() ? impl_->answer : kNone;
}
TextEnd TextConversation::end() const { return valid() ? impl_->end : TextEnd::None; }

Status TextConversation::fork(TextConversation* other) const {
  if (!valid() || other == nullptr)
    return refuse("TextConversation::fork: the TextConversation is empty, or other is null");
  Status status = impl_->free_room();
  if (status != Status::Ok) return status;
  TextConversation fresh;
  fresh.impl_ = std::make_unique<Impl>(*impl_);
  fresh.impl_->batch = nullptr;
  status = fresh.impl_->take_seat();
  if (status == Status::Ok) status = fresh.impl_->free_room();
  if (status == Status::Ok)
    status = fresh.impl_->batch->state.copy_row(impl_->batch->state, static_cast<int64_t>(impl_->row),
                                                static_cast<int64_t>(fresh.impl_->row));
  if (status == Status::Ok) *other = std::move(fresh);
  return status;
}

void TextConversation::reset() {
  if (!valid()) return;
  Impl& c = *impl_;
  cancel();
  c.messages.clear();
  if (!c.options.system.empty()) c.messages.push_back({"system", c.options.system});
  c.set_ids({});
  c.answer.clear();
  c.answer_at = 0;
  c.end = TextEnd::None;
  c.draws = 0;
}

Status TextConversation::set_sampling(const TextSampling& sampling) {
  if (!valid()) return refuse("TextConversation::set_sampling: the TextConversation is empty");
  const Status status = settings_of(sampling, impl_->log(), &impl_->settings);
  if (status == Status::Ok) impl_->options.sampling = sampling;
  return status;
}

std::span<const int32_t> TextConversation::ids() const {
  if (!valid()) return {};
  return impl_->ids;
}
int64_t TextConversation::unread() const {
  return valid() ? static_cast<int64_t>(impl_->ids.size() - impl_->there) : 0;
}
const State& TextConversation::state() const { return impl_->batch->state; }
int64_t TextConversation::row() const { return static_cast<int64_t>(impl_->row); }

}  // namespace heed
