// BERT's family.
#include <heed/bert.hpp>

#include "c/checkpoint.hpp"
#include "c/models.hpp"
#include "c/objects.hpp"

namespace heed::c {
namespace {

BertConfig config_of(Call& call, const heed_bert_config* config) {
  call.has(config, "config");
  const Given<heed_bert_config> given(call, config, "BERT's config");
  BertConfig to;
  if (given->vocabulary != 0) to.vocabulary = given->vocabulary;
  if (given->width != 0) to.width = given->width;
  if (given->layers != 0) to.layers = given->layers;
  if (given->heads != 0) to.heads = given->heads;
  if (given->hidden != 0) to.hidden = given->hidden;
  if (given->positions != 0) to.positions = given->positions;
  if (given->types != 0) to.types = given->types;
  to.pad_id = given->pad_id;
  const int32_t kind = call.one_of(given->activation, int32_t{HEED_ACTIVATION_TANH}, "the activation");
  if (kind != HEED_ACTIVATION_DEFAULT) to.activation = static_cast<Activation>(kind - 1);
  if (given->eps != 0) to.eps = given->eps;
  return to;
}

heed_bert_config read(const BertConfig& from) {
  heed_bert_config to = {};
  to.vocabulary = from.vocabulary;
  to.width = from.width;
  to.layers = from.layers;
  to.heads = from.heads;
  to.hidden = from.hidden;
  to.positions = from.positions;
  to.types = from.types;
  to.pad_id = from.pad_id;
  to.activation = static_cast<int32_t>(from.activation) + 1;
  to.eps = from.eps;
  return to;
}

BertOptions options_of(Building& on, const Given<heed_bert_options>& given) {
  BertOptions to;
  to.dtype = on.call().dtype(given->dtype);
  to.weight_dtype = on.call().dtype_if(given->weight_dtype);
  to.pooler = given->pooler != 0;
  to.attention = given->attention != 0;
  to.joined_qkv = given->separate_qkv == 0;
  to.types = on.tensor_if(given->types);
  return to;
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_bert_config_read(const char* path, const heed_log* log, heed_bert_config* config) {
  Call call(__func__);
  const std::string_view from = call.text(path, "path");
  Wanted<heed_bert_config> wanted(call, config, "config");
  if (call.failed()) return call.status();
  Host host(log);
  heed::BertConfig found;
  if (call.end(heed::read_bert_config(from, host.log(), &found), &host) == HEED_OK) wanted.set(read(found));
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
  if (!call.failed()) wanted.set(read(found));
  return call.status();
}

heed_status heed_bert_upload(heed_checkpoint* handle, const heed_bert_config* config, heed_device* device_handle,
                             const heed_upload_options* options, heed_weights** weights) {
  Call call(__func__);
  if (!has_place(call, weights, "weights")) return call.status();
  const Pin<Checkpoint> checkpoint(call, handle);
  const Pin<Device> device(call, device_handle);
  const heed::BertConfig numbers = config_of(call, config);
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
  const heed::BertConfig numbers = config_of(on.call(), config);
  const Given<heed_bert_options> given(on.call(), options, "BERT's options");
  if (result != nullptr) *result = {};
  if (!has_room(on, given->attention != 0, numbers.layers, attention, attention_capacity)) return on.end();
  const heed::Tensor from = on.tensor(ids, "ids");
  const heed::Mask mask = on.mask(padding, padding_meaning, "padding");
  const heed::BertOptions wanted = options_of(on, given);
  if (!on) return on.end();
  const heed::BertResult made = heed::nn::bert(on.graph().it, from, mask, numbers, wanted);
  if (!on) return on.end();
  const Graph& g = on.graph();
  if (result != nullptr) *result = {g.name(made.tokens), g.name(made.pooled)};
  for (size_t i = 0; i < made.attention.size(); ++i) attention[i] = g.name(made.attention[i]);
  return on.end();
}

heed_tensor heed_nn_mean_sentence(heed_graph* graph, heed_tensor tokens, heed_tensor padding, int32_t padding_meaning) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) {
    return heed::nn::mean_sentence(g, on.tensor(tokens), on.mask(padding, padding_meaning, "padding"));
  });
}
