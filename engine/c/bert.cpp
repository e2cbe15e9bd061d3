// BERT-family encoders.
#include <heed/bert.hpp>

#include "c/checkpoint.hpp"
#include "c/generated/options.hpp"
#include "c/models.hpp"
#include "c/objects.hpp"

using namespace heed::c;

heed_status heed_bert_config_read(const char* path, const heed_log* log, heed_bert_config* config) {
  Call call(__func__);
  const std::string_view from = call.text(path, "path");
  Wanted<heed_bert_config> wanted(call, config, "config");
  if (call.failed()) return call.status();
  Host host(log);
  heed::BertConfig found;
  if (call.end(heed::read_bert_config(from, host.log(), &found), &host) == HEED_OK) wanted.set(to_c(found));
  return call.status();
}

heed_status heed_bert_config_parse(const char* json, const char* name, const heed_log* log, heed_bert_config* config) {
  Call call(__func__);
  const std::string_view text = call.text(json, "json");
  Wanted<heed_bert_config> wanted(call, config, "config");
  if (call.failed()) return call.status();
  Host host(log);
  heed::BertConfig found;
  call.end(heed::parse_bert_config(text, call.text_or(name, "config.json"), host.log(), &found), &host);
  if (!call.failed()) wanted.set(to_c(found));
  return call.status();
}

heed_status heed_bert_upload(heed_checkpoint* handle, const heed_bert_config* config, heed_device* device_handle,
                             const heed_upload_options* options, heed_weights** weights) {
  Call call(__func__);
  if (!has_place(call, weights, "weights")) return call.status();
  const Pin<Checkpoint> checkpoint(call, handle);
  const Pin<Device> device(call, device_handle);
  call.has(config, "config");
  const heed::BertConfig numbers = read(call, config);
  const Upload upload(call, options);
  if (call.failed()) return call.status();
  if (checkpoint->gguf() != nullptr)
    return call.fail(HEED_UNSUPPORTED, "the checkpoint is a GGUF file; BERT is read from safetensors");
  heed::BertWeights loaded;
  auto made = std::make_unique<Weights>();
  made->host = device->host;
  heed::Device on = device->get();
  if (call.end(heed::BertWeights::load(checkpoint->entries(), numbers, checkpoint->host->log(), &loaded),
               checkpoint->host.get()) == HEED_OK)
    call.end(on.upload(loaded.tensors(), &made->it, upload.options()), device->host.get());
  return give(call, std::move(made), weights);
}

heed_status heed_nn_bert(heed_graph* graph, heed_tensor ids, heed_tensor padding, int32_t padding_meaning,
                         const heed_bert_config* config, const heed_bert_options* options, heed_bert_result* result,
                         heed_tensor* attention, size_t attention_capacity) {
  Building on(__func__, graph);
  on.call().has(config, "config");
  const heed::BertConfig numbers = read(on.call(), config);
  const heed::BertOptions wanted = read(on, options);
  if (result != nullptr) *result = {};
  if (!has_room(on, wanted.attention, numbers.layers, attention, attention_capacity)) return on.end();
  const heed::Tensor from = on.tensor(ids, "ids");
  const heed::Mask mask = on.mask(padding, padding_meaning, "padding");
  if (!on) return on.end();
  const heed::BertResult made = heed::nn::bert(on.graph().it, from, mask, numbers, wanted);
  if (!on) return on.end();
  const Graph& g = on.graph();
  if (result != nullptr) *result = {g.name(made.tokens), g.name(made.pooled)};
  for (size_t i = 0; i < made.attention.size(); ++i) attention[i] = g.name(made.attention[i]);
  return on.end();
}
