// Sentence vectors.
#include <heed/text_encoder.hpp>

#include "c/generated/options.hpp"
#include "c/text/text_objects.hpp"

namespace heed::c {
namespace {

struct TextEncoder {
  using Handle = heed_text_encoder;
  static constexpr Kind kKind = Kind::TextEncoder;
  std::shared_ptr<Host> device_host, host;
  heed::TextEncoder it;
  Turn turn;
  bool take_turn() { return turn.take(); }
  void give_turn() { turn.give_back(); }
};

std::unique_ptr<AttentionMap> map_of(TextAttention from) {
  auto map = std::make_unique<AttentionMap>();
  map->layers = from.layers;
  map->heads = from.heads;
  map->queries = map->tokens = static_cast<int64_t>(from.tokens.size());
  map->weights = std::move(from.weights);
  map->texts = std::move(from.tokens);
  for (const std::string& text : map->texts) map->text_pointers.push_back(text.c_str());
  return map;
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_text_encoder_open(heed_device* device_handle, const char* folder,
                                   const heed_text_encoder_options* options, heed_text_encoder** encoder) {
  Call call(__func__);
  if (!has_place(call, encoder, "encoder")) return call.status();
  const Pin<Device> device(call, device_handle);
  const std::string_view path = call.text(folder, "folder");
  auto made = std::make_unique<TextEncoder>();
  made->host = std::make_shared<Host>(log_of(options));
  heed::TextEncoderOptions wanted = read(call, options);
  wanted.log = made->host->log();
  if (call.failed()) return call.status();
  made->device_host = device->host;
  heed::Device on = device->get();
  call.end(heed::TextEncoder::open(on, path, wanted, &made->it), made->host.get());
  return give(call, std::move(made), encoder);
}

heed_status heed_text_encoder_destroy(heed_text_encoder* encoder) { return destroy<TextEncoder>(__func__, encoder); }

heed_status heed_text_encoder_get_info(heed_text_encoder* handle, heed_text_encoder_info* info) {
  Call call(__func__);
  const Pin<TextEncoder> encoder(call, handle);
  Wanted<heed_text_encoder_info> wanted(call, info, "info");
  if (call.failed()) return call.status();
  heed_text_encoder_info to = {};
  to.width = encoder->it.width();
  to.max_tokens = encoder->it.max_tokens();
  to.max_batch = encoder->it.max_batch();
  to.fingerprint = encoder->it.fingerprint();
  to.weight_dtype = to_c(encoder->it.weight_dtype());
  wanted.set(to);
  return call.status();
}

heed_status heed_text_encoder_plan(heed_text_encoder* handle, heed_plan** plan) {
  Call call(__func__);
  const Pin<TextEncoder> encoder(call, handle);
  if (!has_place(call, plan, "plan") || call.failed()) return call.status();
  auto made = std::make_unique<Plan>();
  made->host = encoder->device_host;
  made->it = encoder->it.plan();
  return give(call, std::move(made), plan);
}

heed_status heed_text_encoder_weights(heed_text_encoder* handle, heed_weights** weights) {
  Call call(__func__);
  const Pin<TextEncoder> encoder(call, handle);
  if (!has_place(call, weights, "weights") || call.failed()) return call.status();
  auto made = std::make_unique<Weights>();
  made->host = encoder->device_host;
  made->it = encoder->it.weights();
  return give(call, std::move(made), weights);
}

heed_status heed_text_encoder_encode(heed_text_encoder* handle, const char* const* texts, size_t count, float* vectors,
                                     size_t capacity, const heed_encode_options* options) {
  Call call(__func__);
  const Pin<TextEncoder> encoder(call, handle);
  const Given<heed_encode_options> given(call, options, "the encode options");
  std::vector<std::string_view> all;
  if (call.has_array(texts, count, "texts"))
    for (size_t i = 0; i < count && !call.failed(); ++i) all.push_back(call.text(texts[i], "a text"));
  if (!call.has_array(vectors, capacity, "vectors") || call.failed()) return call.status();
  heed::EncodeProgress progress;
  if (given->progress != nullptr) {
    progress.user = const_cast<heed_encode_options*>(&*given);
    progress.callback = [](void* user, size_t done, size_t total) {
      const auto& to = *static_cast<const heed_encode_options*>(user);
      return to.progress(to.progress_user, done, total) == 0;
    };
  }
  return call.end(encoder->it.encode(all, {vectors, capacity}, given->truncated, progress, given->done),
                  encoder->host.get());
}

heed_status heed_text_encoder_tokens(heed_text_encoder* handle, const char* text, int32_t* ids, size_t capacity,
                                     size_t* count) {
  Call call(__func__);
  const Pin<TextEncoder> encoder(call, handle);
  const std::string_view read = call.text(text, "text");
  if (call.failed()) return call.status();
  std::vector<int32_t> all;
  (void)encoder->it.tokenizer().encode(read, static_cast<size_t>(encoder->it.max_tokens()), &all);
  return fill<int32_t>(call, all, ids, capacity, count);
}

heed_status heed_text_encoder_attention(heed_text_encoder* handle, const char* text, heed_attention_map** map) {
  Call call(__func__);
  if (!has_place(call, map, "map")) return call.status();
  const Pin<TextEncoder> encoder(call, handle);
  const std::string_view read = call.text(text, "text");
  if (call.failed()) return call.status();
  heed::TextAttention attention;
  call.end(encoder->it.attention(read, &attention), encoder->host.get());
  return give(call, map_of(std::move(attention)), map);
}
