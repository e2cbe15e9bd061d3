// Networks of language models.
#include <heed/decoder_model.hpp>

#include "c/checkpoint.hpp"
#include "c/models.hpp"
#include "c/nn_options.hpp"

namespace heed::c {
namespace {

struct DecoderModel {
  using Handle = heed_decoder_model;
  static constexpr Kind kKind = Kind::DecoderModel;
  std::shared_ptr<Host> host;
  heed::DecoderModel it;
};

DecoderConfig config_of(Call& call, const heed_decoder_config* config) {
  call.has(config, "config");
  const Given<heed_decoder_config> given(call, config, "the decoder's config");
  DecoderConfig to;
  to.family = call.text_or(given->family, "llama");
  to.layers = given->layers;
  to.width = given->width;
  to.heads = given->heads;
  to.kv_heads = given->kv_heads;
  to.head_width = given->head_width;
  to.hidden = given->hidden;
  to.vocabulary = given->vocabulary;
  to.positions = given->positions;
  to.window = given->window;
  to.window_from = given->window_from;
  to.full_every = given->full_every;
  if (given->eps != 0) to.eps = given->eps;
  to.rotary.pairs = given->rotary_pairs == HEED_ROTARY_ADJACENT ? RotaryPairs::Adjacent : RotaryPairs::Halves;
  call.one_of(given->rotary_pairs, int32_t{HEED_ROTARY_ADJACENT}, "rotary_pairs");
  to.rotary.width = given->rotary_width;
  if (given->rotary_base != 0) to.rotary.base = given->rotary_base;
  RotaryScaling& scaling = to.rotary.scaling;
  scaling.kind = call.one_of(given->scaling, RotaryScaling::Kind::Llama3, "scaling");
  if (given->factor != 0) scaling.factor = given->factor;
  if (given->low != 0) scaling.low = given->low;
  if (given->high != 0) scaling.high = given->high;
  if (given->trained_length != 0) scaling.trained_length = given->trained_length;
  to.tied = given->untied == 0;
  to.in_out = given->out_in == 0;
  return to;
}

// Reads the types of weights, which an upload and the network that runs with it must agree on.
DecoderOptions storage_of(Call& call, const heed_decoder_options& given) {
  DecoderOptions to;
  to.dtype = call.dtype(given.dtype);
  to.weight_dtype = call.dtype_if(given.weight_dtype);
  return to;
}

DecoderOptions options_of(Building& on, const Given<heed_decoder_options>& given) {
  DecoderOptions to = storage_of(on.call(), *given);
  to.cache = cache_of(on, given->cache);
  to.all_logits = given->all_logits != 0;
  to.attention = given->attention != 0;
  to.last = on.tensor_if(given->last);
  to.prefix = on.call().text_or(given->prefix);
  return to;
}

// Adds a decoder of so many layers, which `make(graph, ids, options)` does, to a graph.
template <class Make>
heed_status add_decoder(Building& on, heed_tensor ids, const heed_decoder_options* options, int layers,
                        heed_decoder_result* result, heed_tensor* attention, size_t capacity, const Make& make) {
  const Given<heed_decoder_options> given(on.call(), options, "the decoder's options");
  if (result != nullptr) *result = {};
  if (!has_room(on, given->attention != 0, layers, attention, capacity)) return on.end();
  const Tensor from = on.tensor(ids, "ids");
  const DecoderOptions wanted = options_of(on, given);
  if (!on) return on.end();
  const DecoderResult made = make(on.graph().it, from, wanted);
  if (!on) return on.end();
  if (result != nullptr) *result = {on.graph().name(made.hidden), on.graph().name(made.logits)};
  for (size_t i = 0; i < made.attention.size(); ++i) attention[i] = on.graph().name(made.attention[i]);
  return on.end();
}

}  // namespace

heed_decoder_config to_c(const DecoderConfig& from) {
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
  to.family = from.family.data();  // a registered name, which ends in a zero byte
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

}  // namespace heed::c

using namespace heed::c;

heed_status heed_decoder_config_read(heed_checkpoint* handle, heed_decoder_config* config) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  Wanted<heed_decoder_config> wanted(call, config, "config");
  if (call.failed()) return call.status();
  const heed::Gguf* file = checkpoint->gguf();
  if (file == nullptr)
    return call.fail(HEED_UNSUPPORTED, "the checkpoint is no GGUF file; heed_decoder_config_parse reads a config.json");
  heed::DecoderConfig read;
  call.end(heed::read_decoder_config(*file, checkpoint->host->log(), &read), checkpoint->host.get());
  if (!call.failed()) wanted.set(to_c(read));
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
  call.end(heed::parse_decoder_config(text, call.text_or(name, "config.json"), host.log(), &read), &host);
  if (!call.failed()) wanted.set(to_c(read));
  return call.status();
}

heed_status heed_nn_decoder(heed_graph* graph, heed_tensor ids, const heed_decoder_config* config,
                            const heed_decoder_options* options, heed_decoder_result* result, heed_tensor* attention,
                            size_t attention_capacity) {
  Building on(__func__, graph);
  const heed::DecoderConfig numbers = config_of(on.call(), config);
  return add_decoder(on, ids, options, numbers.layers, result, attention, attention_capacity,
                     [&](heed::Graph& g, heed::Tensor from, const heed::DecoderOptions& wanted) {
                       return heed::nn::decoder(g, from, numbers, wanted);
                     });
}

heed_status heed_decoder_model_open(const char* path, const heed_log* log, heed_decoder_model** model) {
  Call call(__func__);
  if (!has_place(call, model, "model")) return call.status();
  const std::string_view from = call.text(path, "path");
  if (call.failed()) return call.status();
  auto made = std::make_unique<DecoderModel>();
  made->host = std::make_shared<Host>(log);
  call.end(heed::DecoderModel::open(from, made->host->log(), &made->it), made->host.get());
  return give(call, std::move(made), model);
}

heed_status heed_decoder_model_destroy(heed_decoder_model* model) { return destroy<DecoderModel>(__func__, model); }

heed_status heed_decoder_model_get_config(heed_decoder_model* handle, heed_decoder_config* config) {
  Call call(__func__);
  const Pin<DecoderModel> model(call, handle);
  Wanted<heed_decoder_config> wanted(call, config, "config");
  if (!call.failed()) wanted.set(to_c(model->it.config()));
  return call.status();
}

heed_status heed_decoder_model_bytes(heed_decoder_model* handle, uint64_t* bytes) {
  Call call(__func__);
  const Pin<DecoderModel> model(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = model->it.bytes();
  return call.status();
}

heed_status heed_decoder_model_upload(heed_decoder_model* handle, heed_device* device_handle,
                                      const heed_decoder_options* options, const heed_upload_options* upload,
                                      heed_weights** weights) {
  Call call(__func__);
  if (!has_place(call, weights, "weights")) return call.status();
  const Pin<DecoderModel> model(call, handle);
  const Pin<Device> device(call, device_handle);
  const Given<heed_decoder_options> given(call, options, "the decoder's options");
  const Given<heed_upload_options> told(call, upload, "the upload options");
  const heed::DecoderOptions wanted = storage_of(call, *given);
  if (call.failed()) return call.status();
  auto made = std::make_unique<Weights>();
  made->host = device->host;
  heed::Device on = device->get();
  call.end(model->it.upload(on, wanted, &made->it, {told->progress, told->progress_user}), device->host.get());
  return give(call, std::move(made), weights);
}

heed_status heed_decoder_model_build(heed_decoder_model* handle, heed_graph* graph, heed_tensor ids,
                                     const heed_decoder_options* options, heed_decoder_result* result,
                                     heed_tensor* attention, size_t attention_capacity) {
  Building on(__func__, graph);
  const Pin<DecoderModel> model(on.call(), handle);
  if (!model) return on.call().status();
  return add_decoder(on, ids, options, model->it.config().layers, result, attention, attention_capacity,
                     [&](heed::Graph& g, heed::Tensor from, const heed::DecoderOptions& wanted) {
                       return model->it.build(g, from, wanted);
                     });
}
