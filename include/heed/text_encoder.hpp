// TextEncoder: a sentence-transformers model on a device. It turns texts into vectors of length 1.
//
//   heed::TextEncoder encoder;
//   heed::Status s = heed::TextEncoder::open(device, "all-MiniLM-L6-v2", {.log = heed::stderr_log()}, &encoder);
//   std::vector<float> vectors(2 * encoder.width());
//   std::string_view lines[] = {"where can I buy a sword", "visit the weapon shop"};
//   s = encoder.encode(lines, vectors);   // their dot product is the cosine
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/bert.hpp>
#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/tokenizer.hpp>

namespace heed {

// The types and sizes with which a TextEncoder works.
struct TextEncoderOptions {
  DType dtype = DType::F32;  // F32, or F16 or BF16 if the device supports them
  // Storage of matrices and tables; default: dtype. If dtype is F32, this may be F16 or BF16, which takes half the memory and half the
  // reads per run; matmuls still sum in F32 (see Graph::matmul).
  std::optional<DType> weight_dtype = {};
  bool keep_weight_dtype = false;  // store them as the checkpoint does (BertWeights::dtype), whatever weight_dtype is
  int64_t max_batch = 32;          // texts that run together
  // The longest input in tokens, with [CLS] and [SEP]. 0: the number in sentence_bert_config.json, or without that file
  // the model's positions.
  int64_t max_tokens = 0;
  bool timestamps = false;    // see CompileOptions
  bool reproducible = false;  // see CompileOptions: vectors have the same bits on every device
  UploadProgress progress = {};
  Log log = {};
};

// Token ids of a batch, padded to the longest.
struct TokenBatch {
  int64_t count = 0, tokens = 0;
  std::vector<int32_t> ids;   // [count, tokens]
  std::vector<uint8_t> keep;  // [count, tokens]; 0: padding
};

// encode calls this while it works, with the number of texts that are done. Return false to stop: encode then returns
// Ok, and *done is less than the number of texts.
struct EncodeProgress {
  bool (*callback)(void* user, size_t done, size_t total) = nullptr;
  void* user = nullptr;
};

// The attention weights of one text.
struct TextAttention {
  std::vector<std::string> tokens;  // S words and pieces, with [CLS] and [SEP]
  int64_t layers = 0, heads = 0;
  std::vector<float> weights;  // [layers, heads, S, S]
};

// Copies share device, weights and plan, and must not run at the same time.
class HEED_API TextEncoder {
 public:
  // The directory holds config.json, model.safetensors (or shards with an index) and tokenizer.json or vocab.txt, as
  // sentence-transformers writes them. modules.json, if there is one, must list a Transformer, then Pooling by the mean
  // of the tokens, then Normalize or nothing. Any other module, such as Dense, is Unsupported, and the message has its
  // type and file. The files are checked against each other; read_bert_config, Checkpoint, BertWeights and
  // WordPiece say which failures there are. On failure *encoder is unchanged.
  //
  // Vectors have length 1, whether the model has a Normalize module or not. Prompts that
  // config_sentence_transformers.json names are not added: put them before the texts.
  static Status open(Device& device, std::string_view directory, const TextEncoderOptions& options,
                     TextEncoder* encoder);

  bool valid() const { return plan_.valid(); }
  // The configuration from the model's files, and the sizes that the plan was compiled for.
  const BertConfig& config() const { return config_; }
  const WordPiece& tokenizer() const { return tokenizer_; }
  int64_t width() const { return config_.width; }
  int64_t max_tokens() const { return max_tokens_; }
  int64_t max_batch() const { return max_batch_; }
  DType weight_dtype() const { return weight_dtype_; }  // storage type of matrices and tables
  const Plan& plan() const { return plan_; }
  const Weights& weights() const { return weights_; }
  // A hash over the model's configuration, tokenizer and weights, computed by open. Vectors of two encoders can be
  // compared if their fingerprints are equal.
  uint64_t fingerprint() const { return fingerprint_; }

  // Fills vectors [texts, width], each of length 1. A text without tokens gives the vector of "[CLS] [SEP]". Tokens beyond max_tokens are
  // left out; *truncated, if not null, is the number of texts that lost tokens. Texts of similar length share a batch, so they are not
  // processed in order. InvalidArgument: `vectors` is too small.
  Status encode(std::span<const std::string_view> texts, std::span<float> vectors, size_t* truncated = nullptr,
                EncodeProgress progress = {}, size_t* done = nullptr);
  // Fills vectors [count, width] from one batch of at most max_batch texts of at most max_tokens tokens.
  Status encode(const TokenBatch& batch, std::span<float> vectors);

  // The attention weights of one text in all layers and heads. Tokens beyond max_tokens are left out. Each call
  // compiles a plan. OutOfMemory: the weights would take more than 1 GiB.
  Status attention(std::string_view text, TextAttention* attention);

 private:
  Device device_;
  BertConfig config_;
  WordPiece tokenizer_;
  Weights weights_;
  Plan plan_;
  DType dtype_ = DType::F32, weight_dtype_ = DType::F32;
  int64_t max_tokens_ = 0, max_batch_ = 0;
  uint64_t fingerprint_ = 0;
};

// Pads lists of ids with `pad` to a batch.
HEED_API TokenBatch make_batch(std::span<const std::span<const int32_t>> lists, int32_t pad);

}  // namespace heed
