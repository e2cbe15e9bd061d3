// Tokenizers, and maps of attention weights.
#include <heed/gguf.hpp>

#include "c/checkpoint.hpp"
#include "c/text/text_objects.hpp"

namespace heed::c {
namespace {

heed::Status open(const char* path, const Log& log, Bpe* bpe) {
  if (!begins_as_gguf(path)) return Bpe::open(path, log, bpe);
  Gguf file;
  const Status status = Gguf::open(path, log, &file);
  return status == Status::Ok ? Bpe::from_gguf(file, log, bpe) : status;
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_tokenizer_open(const char* path, const heed_log* log, heed_tokenizer** tokenizer) {
  Call call(__func__);
  if (!has_place(call, tokenizer, "tokenizer") || !call.has(path, "path")) return call.status();
  Host host(log);
  auto made = std::make_unique<Tokenizer>();
  call.end(open(path, host.log(), &made->it), &host);
  return give(call, std::move(made), tokenizer);
}

heed_status heed_tokenizer_destroy(heed_tokenizer* tokenizer) { return destroy<Tokenizer>(__func__, tokenizer); }

size_t heed_tokenizer_size(heed_tokenizer* handle) {
  Call call(__func__);
  const Pin<Tokenizer> tokenizer(call, handle);
  return tokenizer ? tokenizer->it.size() : 0;
}

heed_status heed_tokenizer_id(heed_tokenizer* handle, const char* token, int32_t* id) {
  Call call(__func__);
  const Pin<Tokenizer> tokenizer(call, handle);
  const std::string_view wanted = call.text(token, "token");
  if (!call.has(id, "id") || call.failed()) return call.status();
  const int32_t found = tokenizer->it.id(wanted);
  if (found < 0) return call.fail(HEED_NOT_FOUND, heed::format("there is no token '%s'", token));
  *id = found;
  return call.status();
}

heed_status heed_tokenizer_token(heed_tokenizer* handle, int32_t id, const char** token) {
  Call call(__func__);
  const Pin<Tokenizer> tokenizer(call, handle);
  if (!has_place(call, token, "token") || call.failed()) return call.status();
  const std::vector<std::string>& tokens = tokenizer->it.vocabulary().tokens;
  if (id < 0 || static_cast<size_t>(id) >= tokens.size())
    return call.fail(HEED_INDEX_OUT_OF_RANGE, heed::format("there is no token %d; there are %zu", id, tokens.size()));
  *token = tokens[static_cast<size_t>(id)].c_str();
  return call.status();
}

heed_status heed_tokenizer_encode(heed_tokenizer* handle, const char* text, size_t bytes, int32_t read_special,
                                  int32_t add_special, int32_t* ids, size_t capacity, size_t* count) {
  Call call(__func__);
  const Pin<Tokenizer> tokenizer(call, handle);
  if (!call.has_array(text, bytes, "text") || call.failed()) return call.status();
  const std::string_view whole = bytes == SIZE_MAX ? std::string_view(text) : std::string_view(text, bytes);
  const heed::BpeOptions options = {.read_special = read_special != 0, .add_special = add_special != 0};
  std::vector<int32_t> all;
  if (call.end(tokenizer->it.encode(whole, options, &all)) != HEED_OK) return call.status();
  return fill<int32_t>(call, all, ids, capacity, count);
}

heed_status heed_tokenizer_decode(heed_tokenizer* handle, const int32_t* ids, size_t count, int32_t show_special,
                                  heed_blob** text) {
  Call call(__func__);
  const Pin<Tokenizer> tokenizer(call, handle);
  if (!has_place(call, text, "text") || !call.has_array(ids, count, "ids") || call.failed()) return call.status();
  std::string whole;
  call.end(tokenizer->it.decode({ids, count}, {.show_special = show_special != 0}, &whole));
  return give_text(call, whole, text);
}

heed_status heed_attention_map_get_info(heed_attention_map* handle, heed_attention_map_info* info) {
  Call call(__func__);
  const Pin<AttentionMap> map(call, handle);
  Wanted<heed_attention_map_info> wanted(call, info, "info");
  if (call.failed()) return call.status();
  heed_attention_map_info to = {};
  to.layers = map->layers;
  to.heads = map->heads;
  to.queries = map->queries;
  to.tokens = map->tokens;
  to.weights = map->weights.data();
  to.weight_count = map->weights.size();
  to.token_texts = map->text_pointers.empty() ? nullptr : map->text_pointers.data();
  wanted.set(to);
  return call.status();
}

heed_status heed_attention_map_destroy(heed_attention_map* map) { return destroy<AttentionMap>(__func__, map); }
