// Saved conversations: a sealed blob with the model's fingerprint and, for each conversation, its fields and the keys and values of its
// first tokens.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/fingerprint.hpp"
#include "base/logging.hpp"
#include "base/utf8.hpp"
#include "io/mapped_file.hpp"
#include "io/whole_file.hpp"
#include "text/generator/saved_fields.hpp"
#include "text/generator/saved_keys.hpp"

namespace heed {
namespace {

constexpr std::string_view kTextMagic = "heedtalk";
constexpr uint64_t kTextFormat = 1;

// Depends on the model's tokens and on samples of all weights; hashing whole weights would take as long as loading them.
uint64_t fingerprint_of(TextGenerator::Shared& shared) {
  if (shared.fingerprint != 0) return shared.fingerprint;
  Fingerprint print;
  for (size_t id = 0; id < shared.bpe.size(); ++id) print.add(shared.bpe.token(static_cast<int32_t>(id)));
  for (const HostTensor& tensor : shared.model.tensors()) {
    print.add(tensor.name);
    print.add(static_cast<uint64_t>(tensor.dtype));
    for (const int64_t dim : tensor.shape) print.add(static_cast<uint64_t>(dim));
    constexpr size_t kSamples = 4, kSampleBytes = 64;
    const size_t bytes = std::min(kSampleBytes, tensor.data.size());
    for (size_t i = 0; i < kSamples; ++i)
      print.add(tensor.data.subspan((tensor.data.size() - bytes) * i / (kSamples - 1), bytes));
  }
  return shared.fingerprint = print.value();
}

SavedText saved_of(const TextConversation::Impl& c, bool keys) {
  SavedText s;
  s.options = c.options;
  s.date = c.date;
  s.messages = c.messages;
  s.ids = c.ids;
  s.answering = c.answering;
  s.ahead = c.ahead;
  s.end = c.end;
  s.draws = c.draws;
  s.answer = c.answer;
  if (c.answering && !c.ahead) {
    s.answer_at = c.answer_at;
    s.held = c.stops.held();
    s.guided = c.guide.said();
  }
  if (!keys) return s;
  s.stored = c.stored;
  s.there = c.there;
  if (c.drawn_at <= c.context()) s.drawn_at = c.drawn_at, s.drawn = c.drawn;
  s.layout = layout_of_keys(c.batch->state);
  s.key_bytes = s.stored.size() * key_bytes_of_token(c.batch->state);
  return s;
}

bool are_tokens(std::span<const int32_t> ids, const Bpe& bpe) {
  return std::all_of(ids.begin(), ids.end(),
                     [&](int32_t id) { return id >= 0 && static_cast<size_t>(id) < bpe.size(); });
}

// Whether save_all could have written this. begin() checks the options.
bool is_sound(const SavedText& s, const Bpe& bpe) {
  const auto is_message = [](const TextMessage& m) { return is_utf8(m.role) && is_utf8(m.content); };
  if (!std::all_of(s.messages.begin(), s.messages.end(), is_message)) return false;
  if (!is_utf8(s.answer) || !is_utf8(s.held) || !is_utf8(s.options.grammar) || !is_utf8(s.date)) return false;
  if (!are_tokens(s.ids, bpe) || !are_tokens(s.stored, bpe) || s.end > TextEnd::NoToken) return false;
  constexpr int32_t kMostDraws = std::numeric_limits<int32_t>::max() / 2;  // more of them can follow
  if (s.draws < 0 || s.draws > kMostDraws || (s.ahead && !s.answering)) return false;
  if (s.answering && (s.ids.empty() || s.answer_at > s.ids.size() || s.there >= s.ids.size())) return false;
  if (s.there > std::min(s.ids.size(), s.stored.size())) return false;
  if (!std::equal(s.stored.begin(), s.stored.begin() + static_cast<long>(s.there), s.ids.begin())) return false;
  return s.drawn_at == kNowhere || are_tokens({&s.drawn, 1}, bpe);
}

// Sets a new conversation to the state of the saved one.
Status resume(SavedText s, std::span<const std::byte> keys, TextConversation::Impl* c) {
  const Log& log = c->log();
  if (s.answering && s.ids.size() > c->context())
    return fail(
        log, Status::ExtentOutOfRange,
        format("a saved answer with %zu tokens before it; the context has room for %zu", s.ids.size(), c->context()));
  c->messages = std::move(s.messages);
  c->ids = std::move(s.ids);
  c->begin_answer();
  c->answering = s.answering;
  c->ahead = s.ahead;
  c->answer_at = static_cast<size_t>(s.answer_at);
  c->end = s.end;
  c->draws = s.draws;
  std::string ignored;
  for (size_t i = c->answer_at; s.answering && !s.ahead && i < c->ids.size(); ++i)
    (void)c->stream.add(c->ids[i], &ignored);
  if (std::string given; c->stops.add(s.held, &given) || !given.empty())
    return fail(log, Status::InvalidFile, "what a saved answer holds back begins no stop string");
  c->answer = std::move(s.answer);
  Status status = c->guide.resume(std::move(s.guided), log);
  if (status != Status::Ok || s.layout == 0) return status;
  const State& state = c->batch->state;
  if (s.layout != layout_of_keys(state) || s.stored.size() > c->context()) {
    heed::log(log, LogLevel::Warning,
              "saved keys and values are of another cache_dtype or a longer context: they are computed again");
    return Status::Ok;
  }
  if (keys.size() != s.stored.size() * key_bytes_of_token(state))
    return fail(log, Status::InvalidFile,
                format("%zu bytes of saved keys and values; %zu tokens have %llu", keys.size(), s.stored.size(),
                       static_cast<unsigned long long>(s.stored.size() * key_bytes_of_token(state))));
  c->stored = std::move(s.stored);
  c->there = static_cast<size_t>(s.there);
  if (s.drawn_at <= c->context()) c->drawn_at = static_cast<size_t>(s.drawn_at), c->drawn = s.drawn;
  status = c->free_room();
  if (status == Status::Ok) status = write_text(*c);
  return status == Status::Ok ? write_keys(*c, c->stored.size(), keys.data()) : status;
}

}  // namespace

Status TextConversation::Impl::save_all(std::span<const TextConversation* const> conversations,
                                        const TextSaveOptions& options, std::vector<std::byte>* bytes) {
  TextGenerator::Shared& shared = *conversations[0]->impl_->shared;
  const Log& log = shared.log;
  uint64_t model = fingerprint_of(shared);
  std::vector<SavedText> all;
  FieldWriter size(nullptr);
  size(model);
  uint64_t key_bytes = 0;
  for (const TextConversation* one : conversations) {
    if (one->impl_->shared.get() != &shared)
      return fail(log, Status::InvalidArgument, "conversations of different models are saved together");
    if (options.keys)
      if (const Status status = one->impl_->free_room(); status != Status::Ok) return status;
    all.push_back(saved_of(*one->impl_, options.keys));
    all.back().pass(size);
    key_bytes += all.back().key_bytes;
  }
  BlobWriter writer(kTextMagic, kTextFormat, all.size());
  if (!writer.reserve(size.bytes() + key_bytes))
    return fail(log, Status::OutOfMemory,
                format("no memory for the %llu bytes of saved conversations",
                       static_cast<unsigned long long>(size.bytes() + key_bytes)));
  FieldWriter fields(&writer);
  fields(model);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].pass(fields);
    if (all[i].key_bytes == 0) continue;
    std::byte* const keys = writer.extend(static_cast<size_t>(all[i].key_bytes));
    const Status status = read_keys(*conversations[i]->impl_, all[i].stored.size(), keys);
    if (status != Status::Ok) return status;
  }
  *bytes = writer.seal();
  return Status::Ok;
}

Status TextConversation::Impl::load_all(const TextGenerator& model, TextGenerator::Shared& shared,
                                        std::span<const std::byte> bytes, const std::string& name,
                                        std::vector<TextConversation>* conversations) {
  const auto refuse = [&](Status status, const char* what) { return fail(shared.log, status, name + ": " + what); };
  BlobReader blob(bytes, kTextMagic, kTextFormat);
  switch (blob.state()) {
    case BlobReader::State::NotOne: return refuse(Status::InvalidFile, "no saved conversations");
    case BlobReader::State::Damaged: return refuse(Status::InvalidFile, "damaged");
    case BlobReader::State::OtherKey: return refuse(Status::Unsupported, "saved by another version of heed");
    case BlobReader::State::Usable: break;
  }
  FieldReader fields(&blob);
  uint64_t of_model = 0;
  fields(of_model);
  if (fields.status() != Status::Ok) return refuse(fields.status(), "damaged");
  if (of_model != fingerprint_of(shared)) return refuse(Status::InvalidArgument, "saved with another model");
  std::vector<TextConversation> all;
  for (uint64_t i = 0; i < blob.count(); ++i) {
    SavedText saved;
    saved.pass(fields);
    if (fields.status() == Status::OutOfMemory) return refuse(fields.status(), "there is no memory for what it holds");
    if (fields.status() != Status::Ok || saved.key_bytes > blob.rest().size() || !is_sound(saved, shared.bpe))
      return refuse(Status::InvalidFile, "damaged");
    const std::span<const std::byte> keys = blob.rest().first(static_cast<size_t>(saved.key_bytes));
    blob.skip(keys.size());
    saved.options.date = saved.date;
    TextConversation fresh;
    Status status = model.begin(saved.options, &fresh);
    if (status == Status::Ok) status = resume(std::move(saved), keys, fresh.impl_.get());
    if (status != Status::Ok) return status;
    all.push_back(std::move(fresh));
  }
  if (!blob.at_end() || all.empty()) return refuse(Status::InvalidFile, "damaged");
  *conversations = std::move(all);
  return Status::Ok;
}

Status TextConversation::save_all(std::span<const TextConversation* const> conversations,
                                  const TextSaveOptions& options, std::vector<std::byte>* bytes) {
  const auto is_empty = [](const TextConversation* one) { return one == nullptr || !one->valid(); };
  if (conversations.empty() || bytes == nullptr || std::any_of(conversations.begin(), conversations.end(), is_empty))
    return refuse("TextConversation::save_all: there is no conversation, one is empty, or bytes is null");
  return Impl::save_all(conversations, options, bytes);
}

Status TextConversation::load_all(const TextGenerator& model, std::span<const std::byte> bytes,
                                  std::vector<TextConversation>* conversations) {
  if (!model.valid() || conversations == nullptr)
    return refuse("TextConversation::load_all: the TextGenerator is empty, or conversations is null");
  return Impl::load_all(model, *model.shared_, bytes, "load_all", conversations);
}

Status TextConversation::save(std::string_view path, const TextSaveOptions& options) const {
  if (!valid()) return refuse("TextConversation::save: the TextConversation is empty");
  const TextConversation* const self = this;
  std::vector<std::byte> bytes;
  const Status status = Impl::save_all({&self, 1}, options, &bytes);
  if (status != Status::Ok) return status;
  const std::span<const std::byte> part = bytes;
  const std::string name(path);
  return write_whole_file(name, {&part, 1}) ? Status::Ok
                                            : fail(impl_->log(), Status::FileError, name + ": cannot be written");
}

Status TextConversation::load(const TextGenerator& model, std::string_view path, TextConversation* conversation) {
  if (!model.valid() || conversation == nullptr)
    return refuse("TextConversation::load: the TextGenerator is empty, or conversation is null");
  const std::string name(path);
  MappedFile file;
  std::vector<TextConversation> all;
  Status status = MappedFile::open(name, model.shared_->log, &file);
  if (status == Status::Ok) status = Impl::load_all(model, *model.shared_, file.bytes(), name, &all);
  if (status != Status::Ok) return status;
  if (all.size() > 1)
    return fail(model.shared_->log, Status::InvalidArgument,
                format("%s: %zu conversations; load_all reads them", name.c_str(), all.size()));
  *conversation = std::move(all[0]);
  return Status::Ok;
}

}  // namespace heed
