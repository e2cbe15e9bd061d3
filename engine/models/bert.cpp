// BERT (Devlin et al. 2018, arXiv:1810.04805): embeddings, a stack of post-norm layers, pooling. Names are those of Hugging Face.
#include <algorithm>

#include <heed/bert.hpp>
#include <heed/nn.hpp>

#include "base/logging.hpp"
#include "io/json_file.hpp"
#include "models/find_weights.hpp"
#include "models/network.hpp"

namespace heed {

// --- config.json

namespace {

// Far above every published encoder, and small enough that a product of two sizes does not overflow.
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

// Refuses settings with which the same tensors would form another network.
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
  if (config == nullptr) return refuse("parse_bert_config: config is null");
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
  if (config == nullptr) return refuse("read_bert_config: config is null");
  std::string text;
  const Status status = read_text(std::string(path), kMaxConfigBytes, log, &text);
  return status == Status::Ok ? parse_bert_config(text, path, log, config) : status;
}

// --- The checkpoint's tensors

// Finds the weights of nn::bert in a checkpoint, and joins query, key and value.
class BertLoader {
 public:
  BertLoader(std::span<const SafeTensors::Entry> entries, const BertConfig& config, const Log& log,
             BertWeights* weights)
      : stored_(models::all_stored(entries)), config_(config), log_(log), weights_(*weights) {}

  Status run() {
    models::WeightFinder finder(stored_, "the checkpoint", log_);
    constexpr const char *kWords = "embeddings.word_embeddings.weight", *kWrapper = "bert.";
    if (!finder.has(kWords) && finder.has(std::string(kWrapper) + kWords)) wrapper_ = kWrapper;
    BertOptions options;
    options.joined_qkv = false;
    options.pooler = finder.has(wrapper_ + "pooler.dense.weight") || finder.has(wrapper_ + "pooler.dense.bias");
    weights_.has_pooler_ = options.pooler;
    Graph g;
    (void)nn::bert(g, g.input("ids", {1, 1}, DType::I32), {}, config_, options);
    if (g.status() != Status::Ok) return fail(log_, g.status(), std::string(g.error()));
    std::vector<Found> found;
    for (const WeightInfo& weight : g.weights())
      found.push_back({weight.name, finder.take(wrapper_ + std::string(weight.name), weight.shape, false)});
    // Old checkpoints contain a table of 0, 1, 2, ... that no network reads.
    const NameList others =
        finder.others([](std::string_view name) { return name.ends_with("embeddings.position_ids"); });
    if (!others.empty())
      log(log_, LogLevel::Warning, "the checkpoint has tensors that the configuration does not use: " + others.text());
    const Status status = finder.status(Status::DTypeMismatch, "tensors must be F32, F16 or BF16: ");
    return status == Status::Ok ? take(found) : status;
  }

 private:
  struct Found {
    std::string_view name;
    const models::Stored* tensor = nullptr;
  };

  Status take(std::span<const Found> found) {
    for (const auto& [name, tensor] : found) {
      const size_t at = name.find("self.query.");
      if (at != std::string_view::npos) {
        const std::string prefix(name.substr(0, at + 5)), kind(name.substr(at + 11));
        if (const Status status = join(found, prefix, "." + kind); status != Status::Ok) return status;
      } else if (name.find("self.key.") == std::string_view::npos &&
                 name.find("self.value.") == std::string_view::npos) {
        weights_.tensors_.push_back(
            {tensor->name.substr(wrapper_.size()), *tensor->dtype, tensor->shape, tensor->data});
      }
    }
    return Status::Ok;
  }

  // Joins query, key and value by concatenating their bytes, as they are stored row by row.
  Status join(std::span<const Found> found, const std::string& prefix, const std::string& kind) {
    BertWeights::Joined& joined = weights_.joined_.emplace_back();
    joined.name = prefix + "qkv" + kind;
    std::optional<DType> dtype;
    for (const char* projection : {"query", "key", "value"}) {
      const std::string name = prefix + projection + kind;
      const auto at = std::find_if(found.begin(), found.end(), [&](const Found& one) { return one.name == name; });
      const models::Stored& tensor = *at->tensor;
      if (!dtype) {
        dtype = tensor.dtype;
        joined.shape.assign(tensor.shape.begin(), tensor.shape.end());
        joined.shape[0] *= 3;
        joined.data.reserve(3 * tensor.data.size());
      } else if (tensor.dtype != dtype) {
        return fail(log_, Status::DTypeMismatch,
                    format("%s is %s, the query beside it is %s; they must be the same",
                           std::string(tensor.name).c_str(), to_string(*tensor.dtype), to_string(*dtype)));
      }
      joined.data.insert(joined.data.end(), tensor.data.begin(), tensor.data.end());
    }
    weights_.tensors_.push_back({joined.name, *dtype, joined.shape, joined.data});
    return Status::Ok;
  }

  const std::vector<models::Stored> stored_;
  const BertConfig& config_;
  const Log& log_;
  BertWeights& weights_;
  std::string wrapper_;  // prefix of all names of the checkpoint
};

DType BertWeights::dtype() const {
  std::optional<DType> common;
  for (const HostTensor& tensor : tensors_) {
    if (tensor.shape.size() < 2) continue;
    if (common.value_or(tensor.dtype) != tensor.dtype) return DType::F32;
    common = tensor.dtype;
  }
  return common.value_or(DType::F32);
}

Status BertWeights::load(std::span<const SafeTensors::Entry> entries, const BertConfig& config, const Log& log,
                         BertWeights* weights) {
  if (weights == nullptr) return refuse("BertWeights::load: weights is null");
  BertWeights fresh;
  const Status status = BertLoader(entries, config, log, &fresh).run();
  if (status == Status::Ok) *weights = std::move(fresh);
  return status;
}

// --- The network

namespace nn {

namespace {

// Words + types + positions, normalized: ids [B, S] -> [B, S, C].
Tensor embeddings(Graph& g, Tensor ids, const BertConfig& c, const BertOptions& options) {
  const Shape shape = g.shape(ids);
  if (shape.rank != 2)
    return g.fail(Status::ShapeMismatch, format("bert: ids of rank %d, [B, S] is needed", shape.rank));
  if (shape[1].value > c.positions)
    return g.fail(Status::ShapeMismatch,
                  format("bert: up to %lld tokens, the model has %lld positions",
                         static_cast<long long>(shape[1].value), static_cast<long long>(c.positions)));
  const auto table = [&](const char* name, int64_t rows) {
    return models::table(g, std::string("embeddings.") + name + "_embeddings.weight", rows, c.width,
                         options.weight_dtype.value_or(options.dtype));
  };
  Tensor position = g.cast(g.slice(table("position", c.positions), 0, 0, shape[1]), options.dtype);  // [S, C]
  const Tensor types = table("token_type", c.types);
  Tensor x = g.embedding(table("word", c.vocabulary), ids, options.dtype);
  // Without types, all tokens have type 0. Adding its row to the positions sums over [S, C] instead of [B, S, C].
  if (options.types.valid())
    x = g.add(x, g.embedding(types, options.types, options.dtype));
  else
    position = g.add(position, g.cast(g.select(types, 0, 0), options.dtype));
  return layernorm(g, g.add(x, position), "embeddings.LayerNorm", c.eps);
}

EncoderLayerOptions layer_options(const BertConfig& c, const BertOptions& options, Mask padding) {
  EncoderLayerOptions layer;
  layer.attention.heads = c.heads;
  layer.attention.weight_dtype = options.weight_dtype;
  layer.feed_forward.weight_dtype = options.weight_dtype;
  layer.attention.key_padding = padding;
  layer.attention.names = AttentionNames{.out = "output.dense"};
  if (options.joined_qkv) {
    layer.attention.names->qkv = "self.qkv";
  } else {
    layer.attention.names->q = "self.query";
    layer.attention.names->k = "self.key";
    layer.attention.names->v = "self.value";
  }
  layer.attention_names = {.attention = "attention", .norm = "attention.output.LayerNorm"};
  layer.feed_forward.hidden = c.hidden;
  layer.feed_forward.activation = c.activation;
  layer.feed_forward.first = "intermediate.dense";
  layer.feed_forward.second = "output.dense";
  layer.feed_forward_names = {.norm = "output.LayerNorm"};
  layer.norm = {.placement = NormPlacement::Post, .eps = c.eps};
  return layer;
}

}  // namespace

BertResult bert(Graph& g, Tensor ids, Mask padding, const BertConfig& config, const BertOptions& options) {
  BertResult result;
  if (config.layers < 0 || config.layers > kMaxLayers) {
    static_cast<void>(g.fail(Status::InvalidArgument, format("bert: %lld layers, at most %d are possible",
                                                             static_cast<long long>(config.layers), kMaxLayers)));
    return result;
  }
  g.push_label("embeddings");
  Tensor x = embeddings(g, ids, config, options);
  g.pop_label();
  EncoderLayerOptions layer = layer_options(config, options, padding);
  for (int64_t i = 0; i < config.layers && g.status() == Status::Ok; ++i) {
    Tensor weights;
    layer.attention.weights = options.attention ? &weights : nullptr;
    x = encoder_layer(g, x, "encoder.layer." + std::to_string(i), layer);
    if (options.attention) result.attention.push_back(weights);
  }
  result.tokens = x;
  if (options.pooler) {
    const Tensor first = g.select(x, 1, 0);
    const Tensor dense = linear(g, first, "pooler.dense", config.width, true, options.weight_dtype);
    result.pooled = g.activation(dense, Activation::Tanh);
  }
  return result;
}

Tensor mean_sentence(Graph& g, Tensor tokens, Mask padding) {
  g.push_label("sentence");
  const Tensor sentence = g.l2_normalize(g.mean(tokens, 1, padding));
  g.pop_label();
  return sentence;
}

}  // namespace nn
}  // namespace heed
