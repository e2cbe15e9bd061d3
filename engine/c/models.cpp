// Networks of language models and of BERT's family.
#include "c/models.hpp"

#include "c/files.hpp"
#include "c/graph_object.hpp"
#include "c/objects.hpp"

namespace heed::c {

heed_decoder_config read(const DecoderConfig& from) {
  heed_decoder_config to = {};
  to.width = from.width;
  to.heads = from.heads;
  to.kv_heads = from.kv_heads;
  to.head_width = from.head_width;
  to.hidden = from.hidden;
  to.vocabulary = from.vocabulary;
  to.positions = from.positions;
  to.window = from.window;
  to.rotary_width = from.rotary.width;
  to.trained_length = from.rotary.scaling.trained_length;
  to.family = static_cast<int32_t>(from.family);
  to.layers = from.layers;
  to.window_from = from.window_from;
  to.full_every = from.full_every;
  to.eps = from.eps;
  to.rotary_base = from.rotary.base;
  to.rotary_pairs = from.rotary.pairs == RotaryPairs::Adjacent ? HEED_ROTARY_ADJACENT : HEED_ROTARY_HALVES;
  to.scaling = static_cast<int32_t>(from.rotary.scaling.kind);
  to.factor = from.rotary.scaling.factor;
  to.low = from.rotary.scaling.low;
  to.high = from.rotary.scaling.high;
  to.untied = !from.tied;
  to.out_in = !from.in_out;
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

namespace {

struct Model {
  using Handle = heed_decoder_model;
  static constexpr Kind kKind = Kind::DecoderModel;
  std::shared_ptr<Host> host;
  DecoderModel it;
};

DecoderConfig config_of(Building& b, const heed_decoder_config* config) {
  const Given<heed_decoder_config> from(b.call(), config, "the decoder's config");
  b.call().has(config, "the decoder's config");
  heed_rotary_options rotary = {};
  rotary.size = sizeof(rotary);
  rotary.width = from->rotary_width;
  rotary.trained_length = from->trained_length;
  rotary.base = from->rotary_base;
  rotary.pairs = from->rotary_pairs;
  rotary.scaling = from->scaling;
  rotary.factor = from->factor;
  rotary.low = from->low;
  rotary.high = from->high;
  DecoderConfig to;
  to.family = b.call().one_of(from->family, DecoderFamily::Gpt2, "family");
  to.layers = from->layers;
  to.width = from->width;
  to.heads = from->heads;
  to.kv_heads = from->kv_heads;
  to.head_width = from->head_width;
  to.hidden = from->hidden;
  to.vocabulary = from->vocabulary;
  to.positions = from->positions;
  to.window = from->window;
  to.window_from = from->window_from;
  to.full_every = from->full_every;
  if (from->eps != 0) to.eps = from->eps;
  to.rotary = b.rotary(&rotary);
  to.tied = from->untied == 0;
  to.in_out = from->out_in == 0;
  return to;
}

DecoderOptions options_of(Building& b, const Given<heed_decoder_options>& from) {
  DecoderOptions to;
  if (from->cache != nullptr) to.cache = b.cache(from->cache);
  to.all_logits = from->all_logits != 0;
  to.attention = from->attention != 0;
  to.last = b.in(from->last);
  to.dtype = b.call().dtype(from->dtype);
  to.weight_dtype = b.call().dtype_if(from->weight_dtype);
  to.prefix = b.call().text_or(from->prefix);
  return to;
}

// Whether there is room for the weights of each layer; the graph is unchanged if not.
bool has_room(Call& call, bool wanted, int64_t layers, const heed_tensor* attention, size_t capacity) {
  if (!wanted || call.failed()) return !call.failed();
  if (static_cast<uint64_t>(std::max<int64_t>(layers, 0)) <= capacity)
    return call.has_array(attention, static_cast<size_t>(std::max<int64_t>(layers, 0)), "attention");
  call.fails_into(nullptr);
  call.fail(HEED_BUFFER_TOO_SMALL, format("there are %lld layers, and room for the weights of %zu",
                                          static_cast<long long>(layers), capacity));
  return false;
}

// Adds a decoder by `make(graph, options)`.
template <class Make>
heed_status add_decoder(Building& b, int64_t layers, const heed_decoder_options* options, heed_decoder_result* result,
                        heed_tensor* attention, size_t capacity, const Make& make) {
  if (!b.ok() || !b.call().has(result, "result")) return b.call().status();
  *result = {};
  const Given<heed_decoder_options> from(b.call(), options, "the decoder's options");
  if (!has_room(b.call(), from->attention != 0, layers, attention, capacity)) return b.call().status();
  return b.act([&](heed::Graph& g) {
    const DecoderResult made = make(g, options_of(b, from));
    *result = {b.out(made.hidden), b.out(made.logits)};
    copy_attention(b, made.attention, attention);
  });
}

BertConfig config_of(Call& call, const heed_bert_config* config) {
  const Given<heed_bert_config> from(call, config, "the BERT's config");
  BertConfig to;
  const auto take = [](int64_t value, int64_t* number) {
    if (value != 0) *number = value;
  };
  take(from->vocabulary, &to.vocabulary);
  take(from->width, &to.width);
  take(from->layers, &to.layers);
  take(from->heads, &to.heads);
  take(from->hidden, &to.hidden);
  take(from->positions, &to.positions);
  take(from->types, &to.types);
  to.pad_id = from->pad_id;
  to.activation = activation_of(call, from->activation, to.activation);
  if (from->eps != 0) to.eps = from->eps;
  return to;
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_decoder_config_read(heed_checkpoint* handle, heed_decoder_config* config) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  Wanted<heed_decoder_config> wanted(call, config, "config");
  if (call.failed()) return call.status();
  if (checkpoint->gguf() == nullptr)
    return call.fail(HEED_UNSUPPORTED, "only GGUF files have a decoder's numbers; see heed_decoder_config_parse");
  heed::DecoderConfig read;
  if (call.end(heed::read_decoder_config(*checkpoint->gguf(), checkpoint->host->log(), &read)) == HEED_OK)
    wanted.set(heed::c::read(read));
  return call.status();
}

heed_status heed_decoder_config_parse(const char* json, const char* name, const heed_log* log,
                                      heed_decoder_config* config) {
  Call call(__func__);
  const std::string_view text = call.text(json, "json");
  Wanted<heed_decoder_config> wanted(call, config, "config");
  if (call.failed()) return call.status();
  Host host(log);
  heed::DecoderConfig read;
  const std::string_view called = call.text_or(name, "config.json");
  if (call.end(heed::parse_decoder_config(text, called, host.log(), &read)) == HEED_OK)
    wanted.set(heed::c::read(read));
  return call.status();
}

heed_status heed_nn_decoder(heed_graph* graph, heed_tensor ids, const heed_decoder_config* config,
                            const heed_decoder_options* options, heed_decoder_result* result, heed_tensor* attention,
                            size_t attention_capacity) {
  Building b(__func__, graph);
  if (!b.ok()) return b.call().status();
  const heed::DecoderConfig numbers = config_of(b, config);
  return add_decoder(b, numbers.layers, options, result, attention, attention_capacity,
                     [&](heed::Graph& g, const heed::DecoderOptions& to) {
                       return heed::nn::decoder(g, b.in(ids), numbers, to);
                     });
}

heed_status heed_decoder_model_open(const char* path, const heed_log* log, heed_decoder_model** model) {
  Call call(__func__);
  const std::string_view at = call.text(path, "path");
  if (!has_place(call, model, "model") || call.failed()) return call.status();
  auto made = std::make_unique<Model>();
  made->host = std::make_shared<Host>(log);
  call.end(heed::DecoderModel::open(at, made->host->log(), &made->it), made->host.get());
  return give(call, std::move(made), model);
}

heed_status heed_decoder_model_destroy(heed_decoder_model* model) { return destroy<Model>(__func__, model); }

heed_status heed_decoder_model_get_config(heed_decoder_model* handle, heed_decoder_config* config) {
  Call call(__func__);
  const Pin<Model> model(call, handle);
  Wanted<heed_decoder_config> wanted(call, config, "config");
  if (!call.failed()) wanted.set(read(model->it.config()));
  return call.status();
}

heed_status heed_decoder_model_bytes(heed_decoder_model* handle, uint64_t* bytes) {
  Call call(__func__);
  const Pin<Model> model(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = model->it.bytes();
  return call.status();
}

heed_status heed_decoder_model_upload(heed_decoder_model* handle, heed_device* device_handle,
                                      const heed_decoder_options* options, const heed_upload_options* upload,
                                      heed_weights** weights) {
  Call call(__func__);
  if (!has_place(call, weights, "weights")) return call.status();
  const Pin<Model> model(call, handle);
  const Pin<Device> device(call, device_handle);
  const Given<heed_decoder_options> from(call, options, "the decoder's options");
  const Upload given(call, upload);
  heed::DecoderOptions to;
  to.dtype = call.dtype(from->dtype);
  to.weight_dtype = call.dtype_if(from->weight_dtype);
  if (call.failed()) return call.status();
  auto made = std::make_unique<Weights>();
  made->host = device->host;
  heed::Device on = device->get();
  call.end(model->it.upload(on, to, &made->it, given.options().progress), device->host.get());
  return give(call, std::move(made), weights);
}

heed_status heed_decoder_model_build(heed_decoder_model* handle, heed_graph* graph, heed_tensor ids,
                                     const heed_decoder_options* options, heed_decoder_result* result,
                                     heed_tensor* attention, size_t attention_capacity) {
  Building b(__func__, graph);
  const Pin<Model> model(b.call(), handle);
  if (b.call().failed()) return b.call().status();
  return add_decoder(b, model->it.config().layers, options, result, attention, attention_capacity,
                     [&](heed::Graph& g, const heed::DecoderOptions& to) { return model->it.build(g, b.in(ids), to); });
}

heed_status heed_bert_config_read(const char* path, const heed_log* log, heed_bert_config* config) {
  Call call(__func__);
  const std::string_view at = call.text(path, "path");
  Wanted<heed_bert_config> wanted(call, config, "config");
  if (call.failed()) return call.status();
  Host host(log);
  heed::BertConfig read;
  if (call.end(heed::read_bert_config(at, host.log(), &read)) == HEED_OK) wanted.set(heed::c::read(read));
  return call.status();
}

heed_status heed_bert_config_parse(const char* json, const char* name, const heed_log* log, heed_bert_config* config) {
  Call call(__func__);
  const std::string_view text = call.text(json, "json");
  Wanted<heed_bert_config> wanted(call, config, "config");
  if (call.failed()) return call.status();
  Host host(log);
  heed::BertConfig read;
  const std::string_view called = call.text_or(name, "config.json");
  if (call.end(heed::parse_bert_config(text, called, host.log(), &read)) == HEED_OK) wanted.set(heed::c::read(read));
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
  // A single file is opened as a checkpoint of one.
  const auto* files = std::get_if<heed::Checkpoint>(&checkpoint->file);
  if (files == nullptr) return call.fail(HEED_UNSUPPORTED, "give heed_checkpoint_open the model's folder or its index");
  heed::BertWeights loaded;
  if (call.end(heed::BertWeights::load(*files, numbers, checkpoint->host->log(), &loaded)) != HEED_OK)
    return call.status();
  auto made = std::make_unique<Weights>();
  made->host = device->host;
  call.end(device->get().upload(loaded.tensors(), &made->it, upload.options()), device->host.get());
  return give(call, std::move(made), weights);
}

heed_status heed_nn_bert(heed_graph* graph, heed_tensor ids, heed_tensor padding, int32_t padding_meaning,
                         const heed_bert_config* config, const heed_bert_options* options, heed_bert_result* result,
                         heed_tensor* attention, size_t attention_capacity) {
  Building b(__func__, graph);
  if (!b.ok() || !b.call().has(result, "result")) return b.call().status();
  *result = {};
  const heed::BertConfig numbers = config_of(b.call(), config);
  const Given<heed_bert_options> from(b.call(), options, "the BERT's options");
  if (!has_room(b.call(), from->attention != 0, numbers.layers, attention, attention_capacity))
    return b.call().status();
  return b.act([&](heed::Graph& g) {
    const heed::BertOptions to = {.dtype = b.call().dtype(from->dtype),
                                  .weight_dtype = b.call().dtype_if(from->weight_dtype),
                                  .pooler = from->pooler != 0,
                                  .attention = from->attention != 0,
                                  .joined_qkv = from->separate_qkv == 0,
                                  .types = b.in(from->types)};
    const heed::BertResult made =
        heed::nn::bert(g, b.in(ids), b.mask(padding, padding_meaning, "padding"), numbers, to);
    *result = {b.out(made.tokens), b.out(made.pooled)};
    copy_attention(b, made.attention, attention);
  });
}

heed_tensor heed_nn_mean_sentence(heed_graph* graph, heed_tensor tokens, heed_tensor padding, int32_t padding_meaning) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    return heed::nn::mean_sentence(g, b.in(tokens), b.mask(padding, padding_meaning, "padding"));
  });
}
