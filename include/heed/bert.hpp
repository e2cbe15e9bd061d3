// BERT-family encoders (Devlin et al. 2018, arXiv:1810.04805): configuration, weights and graph.
//
//   heed::BertConfig config;
//   heed::Checkpoint checkpoint;
//   heed::BertWeights loaded;
//   heed::Status s = heed::read_bert_config("model/config.json", log, &config);
//   if (s == heed::Status::Ok) s = heed::Checkpoint::open("model", log, &checkpoint);
//   if (s == heed::Status::Ok) s = heed::BertWeights::load(checkpoint, config, log, &loaded);
//   if (s == heed::Status::Ok) s = device.upload(loaded.tensors(), &weights);
//
//   heed::Graph g;
//   heed::Dim batch = g.extent("batch", 32), tokens = g.extent("tokens", 256);
//   heed::Tensor ids = g.input("ids", {batch, tokens}, heed::DType::I32);
//   heed::Tensor kept = g.input("keep", {batch, tokens}, heed::DType::U8);   // 1: a token, 0: padding
//   heed::BertResult y = heed::nn::bert(g, ids, heed::keep(kept), config);
//   g.output("sentence", heed::nn::mean_sentence(g, y.tokens, heed::keep(kept)));
//
// <heed/text_encoder.hpp> does all of this, and the tokenizer, in one call.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/checkpoint.hpp>
#include <heed/export.hpp>
#include <heed/graph.hpp>
#include <heed/status.hpp>

namespace heed {

// The network as a Hugging Face config.json describes it. Names in brackets are those of the file's fields.
struct BertConfig {
  int64_t vocabulary = 30522;                   // [vocab_size] rows of the word table
  int64_t width = 768;                          // [hidden_size]
  int64_t layers = 12;                          // [num_hidden_layers] at most nn::kMaxLayers
  int64_t heads = 12;                           // [num_attention_heads] must divide width
  int64_t hidden = 3072;                        // [intermediate_size]
  int64_t positions = 512;                      // [max_position_embeddings] the longest input
  int64_t types = 2;                            // [type_vocab_size]
  Activation activation = Activation::GeluErf;  // [hidden_act]
  float eps = 1e-12f;                           // [layer_norm_eps]
  int64_t pad_id = 0;                           // [pad_token_id]
};

// Reads a config.json. InvalidFile: it is not JSON, or a field is missing, of the wrong type or out of range.
// Unsupported: another architecture ([model_type] is not "bert"), relative positions, a decoder, or an unknown
// activation. The message names the field and its value. On failure *config is unchanged.
HEED_API Status read_bert_config(std::string_view path, const Log& log, BertConfig* config);
// Reads the same from memory. `name` stands for the file in messages.
HEED_API Status parse_bert_config(std::string_view json, std::string_view name, const Log& log, BertConfig* config);

// The tensors of a checkpoint in the form that nn::bert asks for. Names lack the "bert." that some checkpoints put in front. Query, key and
// value of each layer are joined to one weight "encoder.layer.N.attention.self.qkv.weight" [3 width, width] (rows of queries, then keys,
// then values) and one bias, so that one matmul computes all three. Only the joined tensors are copies; all others lie in the checkpoint,
// which must outlive this. Move-only.
class HEED_API BertWeights {
 public:
  // Compares the checkpoint with the weights that nn::bert asks for. If tensors are missing (MissingWeight), have another shape
  // (ShapeMismatch) or are no floats (DTypeMismatch), the log names them, at most 20 of the missing ones. A warning
  // names tensors that the network does not use. On failure *weights is unchanged.
  static Status load(const Checkpoint& checkpoint, const BertConfig& config, const Log& log, BertWeights* weights) {
    return load(checkpoint.entries(), config, log, weights);
  }
  // The same for the tensors of one file. `entries` must be sorted by name, as SafeTensors::entries() is.
  static Status load(std::span<const SafeTensors::Entry> entries, const BertConfig& config, const Log& log,
                     BertWeights* weights);

  BertWeights() = default;
  BertWeights(BertWeights&&) = default;
  BertWeights& operator=(BertWeights&&) = default;

  std::span<const HostTensor> tensors() const { return tensors_; }  // for Device::upload
  bool has_pooler() const { return has_pooler_; }
  // F16 or BF16 if all of the network's matrices and tables have that type in the checkpoint, else F32.
  DType dtype() const;

 private:
  friend class BertLoader;
  struct Joined {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<std::byte> data;
  };
  std::vector<HostTensor> tensors_;
  std::deque<Joined> joined_;  // tensors_ points into it, and a deque keeps addresses
  bool has_pooler_ = false;
};

// Options of nn::bert: which results it computes, and in which types.
struct BertOptions {
  DType dtype = DType::F32;  // F32, F16 or BF16: storage of the weights and of all results
  // Storage of matrices and tables: F16 or BF16 if `dtype` is F32. Default: `dtype`. Upload the weights with
  // {.keep_dtype = false, .dtype = weight_dtype, .only_matrices = true}.
  std::optional<DType> weight_dtype = {};
  bool pooler = false;     // compute BertResult::pooled
  bool attention = false;  // compute BertResult::attention
  bool joined_qkv = true;  // the weights are those of BertWeights; false: those of the checkpoint
  Tensor types = {};       // token types, I32 [B, S]; if invalid, all are 0
};

// Results of nn::bert, of BertOptions::dtype.
struct BertResult {
  Tensor tokens;                  // [B, S, width], after the last layer
  Tensor pooled;                  // [B, width]: tanh(linear) of the first token; invalid without `pooler`
  std::vector<Tensor> attention;  // per layer [B, heads, S, S]; empty without `attention`
};

namespace nn {

// The encoder on ids I32 [B, S]; B and S may be extents, S at most config.positions. Attention masks padding out; the result's rows for
// padding are undefined. The weights have the names that BertWeights gives.
HEED_API BertResult bert(Graph& g, Tensor ids, Mask padding, const BertConfig& config, const BertOptions& options = {});

// The mean of the kept tokens, [B, S, C] -> [B, C], with each row scaled to length 1: the sentence embedding of
// sentence-transformers (Reimers & Gurevych 2019, arXiv:1908.10084). A row without tokens gives zeros.
HEED_API Tensor mean_sentence(Graph& g, Tensor tokens, Mask padding);

}  // namespace nn
}  // namespace heed
