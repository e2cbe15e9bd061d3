// config.json of BERT-family encoders.
#include <heed/bert.hpp>
#include <heed/nn.hpp>

#include "base/logging.hpp"
#include "io/json_file.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace {

// Far above every published encoder, and so small that no product of two sizes overflows.
constexpr int64_t kMaxSize = 1 << 24;

struct NamedActivation {
  const char* name;
  Activation activation;
};
constexpr NamedActivation kActivations[] = {
    {"gelu", Activation::GeluErf}, {"gelu_new", Activation::GeluTanh}, {"gelu_pytorch_tanh", Activation::GeluTanh},
    {"relu", Activation::Relu},    {"silu", Activation::Silu},         {"swish", Activation::Silu},
    {"tanh", Activation::Tanh},
};

void read_activation(Fields* fields, Activation* activation) {
  const std::string name = fields->text("hidden_act", "gelu");
  for (const NamedActivation& known : kActivations)
    if (name == known.name) {
      *activation = known.activation;
      return;
    }
  fields->fail("hidden_act", "is not known; gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish and tanh are",
               Status::Unsupported);
}

// Refuses settings by which the same tensors would mean another network.
void refuse_others(Fields* fields) {
  if (fields->text("model_type") != "bert")
    fields->fail("model_type", "only 'bert' encoders are read", Status::Unsupported);
  if (fields->text("position_embedding_type", "absolute") != "absolute")
    fields->fail("position_embedding_type", "only 'absolute' is supported", Status::Unsupported);
  if (fields->boolean("is_decoder", false))
    fields->fail("is_decoder", "only encoders are supported", Status::Unsupported);
}

}  // namespace

Status parse_bert_config(std::string_view json, std::string_view name, const Log& log, BertConfig* config) {
  if (config == nullptr) return Status::InvalidArgument;
  JsonFile object;
  const Status status = parse_object(json, name, log, &object);
  if (status != Status::Ok) return status;
  Fields fields(object.root(), std::string(name), log);
  refuse_others(&fields);
  BertConfig read;
  read.vocabulary = fields.integer("vocab_size", 1, kMaxSize);
  read.width = fields.integer("hidden_size", 1, kMaxSize);
  read.layers = fields.integer("num_hidden_layers", 1, nn::kMaxLayers);
  read.heads = fields.integer("num_attention_heads", 1, kMaxSize);
  read.hidden = fields.integer("intermediate_size", 1, kMaxSize);
  read.positions = fields.integer("max_position_embeddings", 1, kMaxSize);
  read.types = fields.integer("type_vocab_size", 1, kMaxSize, 2);
  read.eps = static_cast<float>(fields.number("layer_norm_eps", 0.0, 1.0, 1e-12));
  read.pad_id = fields.integer("pad_token_id", 0, kMaxSize, 0);
  read_activation(&fields, &read.activation);
  if (fields.status() == Status::Ok && read.width % read.heads != 0)
    fields.fail("num_attention_heads", format("must divide hidden_size %lld", static_cast<long long>(read.width)));
  if (fields.status() == Status::Ok) *config = read;
  return fields.status();
}

Status read_bert_config(std::string_view path, const Log& log, BertConfig* config) {
  if (config == nullptr) return Status::InvalidArgument;
  std::string text;
  const Status status = read_text(std::string(path), kMaxConfigBytes, log, &text);
  return status == Status::Ok ? parse_bert_config(text, path, log, config) : status;
}

}  // namespace heed
