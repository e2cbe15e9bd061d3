// Input of a conversation: messages or a raw text, their tokens, and which are dropped if there are too many.
#include <algorithm>

#include "base/logging.hpp"
#include "base/utf8.hpp"
#include "text/generator/conversation.hpp"

namespace heed {

namespace {

// An answer begins with at least 1 / kFreeShare of the context free, if older messages can be dropped.
constexpr size_t kFreeShare = 4;

// Removes the oldest message after the system message, with its answers, but never the last message.
bool drop_oldest(std::vector<TextMessage>* messages) {
  const size_t first = !messages->empty() && messages->front().role == "system" ? 1 : 0;
  size_t behind = first + 1;
  while (behind < messages->size() && (*messages)[behind].role == "assistant") ++behind;
  if (behind >= messages->size()) return false;
  messages->erase(messages->begin() + static_cast<long>(first), messages->begin() + static_cast<long>(behind));
  return true;
}

}  // namespace

Status TextConversation::Impl::check_text(std::string_view text, const char* what) const {
  return is_utf8(text) ? Status::Ok : fail(log(), Status::InvalidArgument, std::string(what) + " is not UTF-8");
}

Status TextConversation::Impl::render(const std::vector<TextMessage>& list, bool answer,
                                      std::vector<int32_t>* to) const {
  if (!shared->chat) return fail(log(), Status::Unsupported, shared->chat_problem);
  std::vector<ChatMessage> views;
  for (const TextMessage& message : list) views.push_back({message.role, message.content});
  const BpeVocabulary& vocabulary = shared->bpe.vocabulary();
  const ChatOptions chat = {.generation_prompt = answer,
                            .bos = shared->bpe.token(vocabulary.bos),
                            .eos = shared->bpe.token(vocabulary.eos),
                            .date = date,
                            .think = options.think};
  std::vector<ChatPart> parts;
  const Status status = shared->chat->render(views, chat, log(), &parts);
  return status == Status::Ok ? shared->bpe.encode(text_parts(parts), false, to) : status;
}

Status TextConversation::Impl::ask() {
  std::vector<TextMessage> kept = messages;
  std::vector<int32_t> fresh;
  const bool may_drop = options.overflow == TextOverflow::DropOldest;
  for (;;) {
    const Status status = render(kept, true, &fresh);
    if (status != Status::Ok) return status;
    if (fresh.empty()) return fail(log(), Status::InvalidArgument, "there is nothing to answer");
    if (fresh.size() + (may_drop ? context() / kFreeShare : 0) <= context()) break;
    if (may_drop && drop_oldest(&kept)) continue;
    if (fresh.size() <= context()) break;
    return fail(log(), Status::ExtentOutOfRange,
                format("messages of %zu tokens; the context has room for %zu", fresh.size(), context()));
  }
  messages = std::move(kept);
  set_ids(std::move(fresh));
  begin_answer();
  return Status::Ok;
}

Status TextConversation::Impl::ask_raw(std::span<const int32_t> more) {
  const size_t size = ids.size() + more.size(), keep = static_cast<size_t>(options.keep_tokens);
  const bool may_drop = options.overflow == TextOverflow::DropOldest && !ids.empty() && more.size() + keep <= context();
  if (size == 0) return fail(log(), Status::InvalidArgument, "there are no tokens to go on from");
  if (size > context() && !may_drop)
    return fail(log(), Status::ExtentOutOfRange,
                format("a text of %zu tokens; the context has room for %zu", size, context()));
  std::vector<int32_t> fresh = ids;
  fresh.insert(fresh.end(), more.begin(), more.end());
  if (size > context()) {
    ids = std::move(fresh);
    fresh = recent(more.size());
  }
  set_ids(std::move(fresh));
  begin_answer();
  return Status::Ok;
}

std::vector<int32_t> TextConversation::Impl::recent(size_t at_least) const {
  const size_t keep = static_cast<size_t>(options.keep_tokens);
  const size_t last = std::min(std::max(at_least, context() / 2), context() - keep);
  std::vector<int32_t> fresh(ids.begin(), ids.begin() + static_cast<long>(keep));
  fresh.insert(fresh.end(), ids.end() - static_cast<long>(last), ids.end());
  return fresh;
}

bool TextConversation::Impl::make_room() {
  if (options.overflow != TextOverflow::DropOldest) return false;
  if (messages.empty()) {
    const size_t length = ids.size() - answer_at;
    std::vector<int32_t> fresh = recent(0);
    answer_at = fresh.size() - std::min(length, fresh.size());
    set_ids(std::move(fresh));
    return true;
  }
  const std::vector<int32_t> said(ids.begin() + static_cast<long>(answer_at), ids.end());
  std::vector<TextMessage> kept = messages;
  std::vector<int32_t> fresh, fits;
  while (drop_oldest(&kept)) {
    if (render(kept, true, &fresh) != Status::Ok) return false;
    if (fresh.size() + said.size() > context()) continue;
    fits = fresh;
    messages = kept;
    if (fresh.size() + said.size() + context() / kFreeShare <= context()) break;
  }
  if (fits.empty()) return false;
  answer_at = fits.size();
  fits.insert(fits.end(), said.begin(), said.end());
  set_ids(std::move(fits));
  return true;
}

// Tokens at the beginning that the State already has are not read again. At least one token is always read, since its logits give the next
// token.
void TextConversation::Impl::set_ids(std::vector<int32_t> fresh) {
  ids = std::move(fresh);
  const size_t most = std::min(ids.size(), stored.size());
  there = static_cast<size_t>(std::mismatch(ids.begin(), ids.begin() + static_cast<long>(most), stored.begin()).first -
                              ids.begin());
  there = std::min(there, ids.size() - std::min<size_t>(ids.size(), 1));
}

void TextConversation::Impl::begin_answer() {
  answering = true;
  ahead = finished = false;
  answer_at = ids.size();
  answer.clear();
  end = TextEnd::None;
  stream = BpeStream(shared->bpe, {.begins_text = false});
  stops = StopStrings(options.stop);
  guide.restart();
}

}  // namespace heed
