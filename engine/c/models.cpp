// Networks of language models.
#include <heed/decoder_model.hpp>

#include "c/checkpoint.hpp"
#include "c/generated/options.hpp"
#include "c/models.hpp"

namespace heed::c {
namespace {

struct DecoderModel {
  using Handle = heed_decoder_model;
  static constexpr Kind kKind = Kind::DecoderModel;
  std::shared_ptr<Host> host;
  heed::DecoderModel it;
};

// Adds a decoder with this number of layers, made by `make(graph, ids, options)`, to a graph.
template <class Make>
heed_status add_decoder(Building& on, heed_tensor ids, const heed_decoder_options* options, int layers,
                        heed_decoder_result* result, heed_tensor* attention, size_t capacity, const Make& make) {
  const DecoderOptions wanted = read(on, options);
  if (result != nullptr) *result = {};
  if (!has_room(on, wanted.attention, layers, attention, capacity)) return on.end();
  const Tensor from = on.tensor(ids, "ids");
  if (!on) return on.end();
  const DecoderResult made = make(on.graph().it, from, wanted);
  if (!on) return on.end();
  if (result != nullptr) *result = {on.name(made.hidden), on.name(made.logits)};
  for (size_t i = 0; i < made.attention.size(); ++i) attention[i] = on.name(made.attention[i]);
  return on.end();
}

}  // namespace

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
  on.call().has(config, "config");
  const heed::DecoderConfig numbers = read(on, config);
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
  heed::DecoderOptions wanted;  // an upload reads only the types
  if (options != nullptr && check_struct(call, options, sizeof(*options), "heed_decoder_options")) {
    wanted.dtype = call.dtype(options->dtype);
    wanted.weight_dtype = call.dtype_if(options->weight_dtype);
  }
  const Upload told(call, upload);
  if (call.failed()) return call.status();
  auto made = std::make_unique<Weights>();
  made->host = device->host;
  heed::Device on = device->get();
  call.end(model->it.upload(on, wanted, &made->it, told.options().progress), device->host.get());
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
