// Conversations with language models.
#include "c/generated/options.hpp"
#include "c/text/text_objects.hpp"

namespace heed::c {
namespace {

TextConversationOptions options_of(Call& call, const heed_conversation_options* given) {
  TextConversationOptions options = read(call, given);
  if (given == nullptr || call.failed()) return options;
  if (call.has_array(given->stop, given->stop_count, "stop"))
    for (size_t i = 0; i < given->stop_count && !call.failed(); ++i)
      options.stop.emplace_back(call.text(given->stop[i], "a stop text"));
  return options;
}

heed_text_piece read(const TextPiece& from) {
  heed_text_piece to = {};
  to.text = from.text.c_str();
  to.text_bytes = from.text.size();
  to.read = from.read;
  to.token = from.token;
  to.done = from.done;
  to.end = static_cast<int32_t>(from.end);
  return to;
}

heed_status next_piece(const char* function, heed_conversation* handle, heed_text_piece* piece,
                       Status (TextConversation::*next)(TextPiece*)) {
  Call call(function);
  const Pin<Conversation> conversation(call, handle);
  Wanted<heed_text_piece> wanted(call, piece, "piece");
  if (call.failed()) return call.status();
  conversation->piece = {};
  if (call.end((conversation->it.*next)(&conversation->piece), conversation->host()) == HEED_OK)
    wanted.set(read(conversation->piece));
  return call.status();
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_conversation_begin(heed_text_generator* handle, const heed_conversation_options* options,
                                    heed_conversation** conversation) {
  Call call(__func__);
  if (!has_place(call, conversation, "conversation")) return call.status();
  const Pin<TextGenerator> generator(call, handle);
  const heed::TextConversationOptions wanted = options_of(call, options);
  if (call.failed()) return call.status();
  auto made = std::make_unique<Conversation>(generator->shared);
  call.end(generator->it().begin(wanted, &made->it), generator->host());
  return give(call, std::move(made), conversation);
}

heed_status heed_conversation_fork(heed_conversation* handle, heed_conversation** other) {
  Call call(__func__);
  if (!has_place(call, other, "other")) return call.status();
  const Pin<Conversation> conversation(call, handle);
  if (call.failed()) return call.status();
  auto made = std::make_unique<Conversation>(conversation->shared);
  call.end(conversation->it.fork(&made->it), conversation->host());
  return give(call, std::move(made), other);
}

heed_status heed_conversation_save(heed_conversation* handle, const heed_text_save_options* options,
                                   heed_blob** bytes) {
  Call call(__func__);
  if (!has_place(call, bytes, "bytes")) return call.status();
  const Pin<Conversation> conversation(call, handle);
  const heed::TextSaveOptions wanted = read(call, options);
  if (call.failed()) return call.status();
  const heed::TextConversation* const one = &conversation->it;
  std::vector<std::byte> made;
  call.end(heed::TextConversation::save_all({&one, 1}, wanted, &made), conversation->host());
  return give_blob(call, std::move(made), bytes);
}

heed_status heed_conversation_load(heed_text_generator* handle, const void* data, size_t bytes,
                                   heed_conversation** conversation) {
  Call call(__func__);
  if (!has_place(call, conversation, "conversation")) return call.status();
  const Pin<TextGenerator> generator(call, handle);
  const auto given = call.array(static_cast<const std::byte*>(data), bytes, "data");
  if (call.failed()) return call.status();
  auto made = std::make_unique<Conversation>(generator->shared);
  std::vector<heed::TextConversation> all;
  if (call.end(heed::TextConversation::load_all(generator->it(), given, &all), generator->host()) == HEED_OK) {
    if (all.size() == 1)
      made->it = std::move(all[0]);
    else
      call.fail(HEED_INVALID_ARGUMENT, heed::format("data holds %zu conversations", all.size()));
  }
  return give(call, std::move(made), conversation);
}

heed_status heed_conversation_destroy(heed_conversation* conversation) {
  return destroy<Conversation>(__func__, conversation);
}

heed_status heed_conversation_say(heed_conversation* handle, const char* text) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  const std::string_view said = call.text(text, "text");
  return call.failed() ? call.status() : call.end(conversation->it.say(said), conversation->host());
}

heed_status heed_conversation_add(heed_conversation* handle, const char* role, const char* text) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  const std::string_view by = call.text(role, "role"), said = call.text(text, "text");
  return call.failed() ? call.status() : call.end(conversation->it.add(by, said), conversation->host());
}

heed_status heed_conversation_prompt(heed_conversation* handle, const char* text, int32_t special) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  const std::string_view said = call.text(text, "text");
  if (call.failed()) return call.status();
  const heed::BpeOptions options = {.read_special = special != 0, .add_special = special != 0};
  return call.end(conversation->it.prompt(said, options), conversation->host());
}

heed_status heed_conversation_prompt_ids(heed_conversation* handle, const int32_t* ids, size_t count) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  if (!call.has_array(ids, count, "ids") || call.failed()) return call.status();
  return call.end(conversation->it.prompt(std::span(ids, count)), conversation->host());
}

heed_status heed_conversation_answer_now(heed_conversation* handle) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  return call.failed() ? call.status() : call.end(conversation->it.answer_now(), conversation->host());
}

heed_status heed_conversation_read_ahead(heed_conversation* handle) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  return call.failed() ? call.status() : call.end(conversation->it.read_ahead(), conversation->host());
}

heed_status heed_conversation_step(heed_conversation* conversation, heed_text_piece* piece) {
  return next_piece(__func__, conversation, piece, &heed::TextConversation::step);
}

heed_status heed_conversation_poll(heed_conversation* conversation, heed_text_piece* piece) {
  return next_piece(__func__, conversation, piece, &heed::TextConversation::poll);
}

heed_status heed_conversation_answer(heed_conversation* handle,
                                     int32_t (*callback)(void* user, const char* text, size_t bytes), void* user) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  if (call.failed()) return call.status();
  heed::TextConversation& it = conversation->it;
  heed::TextPiece piece;
  do {  // the first step reports it if the conversation is not answering
    if (call.end(it.step(&piece), conversation->host()) != HEED_OK) return call.status();
    const bool is_told = callback != nullptr && !piece.text.empty();
    if (is_told && callback(user, piece.text.c_str(), piece.text.size()) != 0) it.cancel();
  } while (it.answering());
  return call.status();
}

heed_status heed_conversation_cancel(heed_conversation* handle) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  if (!call.failed()) conversation->it.cancel();
  return call.status();
}

heed_status heed_conversation_answering(heed_conversation* handle, int32_t* answering) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  if (call.has(answering, "answering") && !call.failed()) *answering = conversation->it.answering();
  return call.status();
}

heed_status heed_conversation_text(heed_conversation* handle, heed_blob** text, int32_t* end) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  if (!has_place(call, text, "text") || call.failed()) return call.status();
  if (end != nullptr) *end = static_cast<int32_t>(conversation->it.end());
  return give_text(call, conversation->it.answer(), text);
}

heed_status heed_conversation_reset(heed_conversation* handle) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  if (!call.failed()) conversation->it.reset();
  return call.status();
}

heed_status heed_conversation_set_sampling(heed_conversation* handle, const heed_text_sampling* sampling) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  const heed::TextSampling wanted = read(call, sampling);
  if (call.failed()) return call.status();
  return call.end(conversation->it.set_sampling(wanted), conversation->host());
}

heed_status heed_conversation_ids(heed_conversation* handle, int32_t* ids, size_t capacity, size_t* count,
                                  int64_t* unread) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  if (call.failed()) return call.status();
  if (unread != nullptr) *unread = conversation->it.unread();
  return fill<int32_t>(call, conversation->it.ids(), ids, capacity, count);
}

heed_status heed_conversation_state(heed_conversation* handle, heed_state** state, int64_t* row) {
  Call call(__func__);
  const Pin<Conversation> conversation(call, handle);
  if (!has_place(call, state, "state") || call.failed()) return call.status();
  if (row != nullptr) *row = conversation->it.row();
  return give_part<State>(call, *conversation->shared, conversation->it.state(), state);
}
