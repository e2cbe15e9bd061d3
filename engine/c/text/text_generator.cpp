// Language models on a device.
#include "c/generated/options.hpp"
#include "c/models.hpp"
#include "c/text/text_objects.hpp"

using namespace heed::c;

heed_status heed_text_generator_open(heed_device* device_handle, const char* path,
                                     const heed_text_generator_options* options, heed_text_generator** generator) {
  Call call(__func__);
  if (!has_place(call, generator, "generator")) return call.status();
  const Pin<Device> device(call, device_handle);
  const std::string_view from = call.text(path, "path");
  auto made = std::make_unique<TextGenerator>();
  Speaker& speaker = *made->shared;
  speaker.host = std::make_shared<Host>(log_of(options));
  heed::TextGeneratorOptions wanted = read(call, options);
  if (options != nullptr && !call.failed() && options->chat_template != nullptr)
    call.end(heed::ChatTemplate::recognize(options->chat_template, "the chat template of the options",
                                           speaker.host->log(), &wanted.chat.emplace()));
  wanted.log = speaker.host->log();
  if (call.failed()) return call.status();
  speaker.device_host = device->host;
  heed::Device on = device->get();
  call.end(heed::TextGenerator::open(on, from, wanted, &speaker.it), speaker.host.get());
  return give(call, std::move(made), generator);
}

heed_status heed_text_generator_destroy(heed_text_generator* generator) {
  return destroy<TextGenerator>(__func__, generator);
}

heed_status heed_text_generator_get_info(heed_text_generator* handle, heed_text_generator_info* info) {
  Call call(__func__);
  const Pin<TextGenerator> generator(call, handle);
  Wanted<heed_text_generator_info> wanted(call, info, "info");
  if (call.failed()) return call.status();
  const heed::TextGenerator& from = generator->it();
  heed_text_generator_info to = {};
  to.context = from.context();
  to.conversation_bytes = from.conversation_bytes();
  to.weight_dtype = to_c(from.weight_dtype());
  to.has_chat = from.chat() != nullptr;
  wanted.set(to);
  return call.status();
}

heed_status heed_text_generator_config(heed_text_generator* handle, heed_decoder_config* config) {
  Call call(__func__);
  const Pin<TextGenerator> generator(call, handle);
  Wanted<heed_decoder_config> wanted(call, config, "config");
  if (!call.failed()) wanted.set(to_c(generator->it().config()));
  return call.status();
}

heed_status heed_text_generator_tokenizer(heed_text_generator* handle, heed_tokenizer** tokenizer) {
  Call call(__func__);
  const Pin<TextGenerator> generator(call, handle);
  if (!has_place(call, tokenizer, "tokenizer") || call.failed()) return call.status();
  auto made = std::make_unique<Tokenizer>();
  made->it = generator->it().tokenizer();
  return give(call, std::move(made), tokenizer);
}

heed_status heed_text_generator_plan(heed_text_generator* handle, heed_plan** plan) {
  Call call(__func__);
  const Pin<TextGenerator> generator(call, handle);
  if (!has_place(call, plan, "plan") || call.failed()) return call.status();
  return give_part<Plan>(call, *generator->shared, generator->it().plan(), plan);
}

heed_status heed_text_generator_weights(heed_text_generator* handle, heed_weights** weights) {
  Call call(__func__);
  const Pin<TextGenerator> generator(call, handle);
  if (!has_place(call, weights, "weights") || call.failed()) return call.status();
  return give_part<Weights>(call, *generator->shared, generator->it().weights(), weights);
}

heed_status heed_text_generator_loss(heed_text_generator* handle, const int32_t* ids, size_t id_count, double* mean,
                                     size_t* count) {
  Call call(__func__);
  const Pin<TextGenerator> generator(call, handle);
  if (!call.has_array(ids, id_count, "ids") || !call.has(mean, "mean") || call.failed()) return call.status();
  return call.end(generator->it().loss({ids, id_count}, mean, count), generator->host());
}

heed_status heed_text_generator_attention(heed_text_generator* handle, const int32_t* ids, size_t count,
                                          heed_attention_map** map) {
  Call call(__func__);
  if (!has_place(call, map, "map")) return call.status();
  const Pin<TextGenerator> generator(call, handle);
  if (!call.has_array(ids, count, "ids") || call.failed()) return call.status();
  heed::TokenAttention attention;
  call.end(generator->it().attention({ids, count}, &attention), generator->host());
  auto made = std::make_unique<AttentionMap>();
  made->layers = attention.layers;
  made->heads = attention.heads;
  made->queries = 1;
  made->tokens = attention.tokens;
  made->weights = std::move(attention.weights);
  return give(call, std::move(made), map);
}

heed_status heed_grammar_of_json_schema(const char* schema, const heed_log* log, heed_blob** grammar) {
  Call call(__func__);
  if (!has_place(call, grammar, "grammar")) return call.status();
  const std::string_view read = call.text(schema, "schema");
  if (call.failed()) return call.status();
  Host host(log);
  std::string made;
  call.end(heed::grammar_of_json_schema(read, host.log(), &made), &host);
  return give_text(call, made, grammar);
}
