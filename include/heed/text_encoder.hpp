// TextEncoder: a sentence-transformers model directory on a device; text in, unit vectors out.
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

struct TextEncoderOptions {
  DType dtype = DType::F32;  // F32, or F16 or BF16 where the device can
  // Storage of matrices and tables. F16 or BF16 beside a dtype of F32 take half the bytes, to hold and to read at each
  // run; products sum in F32 (see Graph::matmul). Default: dtype.
  std::optional<DType> weight_dtype = {};
  bool keep_weight_dtype = false;  // instead: as the checkpoint has them (BertWeights::dtype)
  int64_t max_batch = 32;
  // Longest input in tokens, [CLS] and [SEP] included; 0: what sentence_bert_config.json says, else the model's
  // positions.
  int64_t max_tokens = 0;
  bool timestamps = false;  // see CompileOptions
  UploadProgress progress = {};
  Log log = {};
};

// Token ids of a batch, padded to the longest.
struct TokenBatch {
  int64_t count = 0, tokens = 0;
  std::vector<int32_t> ids;   // [count, tokens]
  std::vector<uint8_t> keep;  // [count, tokens]; 0: padding
};

// What encode tells while it works: texts done so far. Return false to stop; encode then returns Ok early with
// *done below the number of texts.
struct EncodeProgress {
  bool (*callback)(void* user, size_t done, size_t total) = nullptr;
  void* user = nullptr;
};

struct TextAttention {
  std::vector<std::string> tokens;  // S words and pieces, with [CLS] and [SEP]
  int64_t layers = 0, heads = 0;
  std::vector<float> weights;  // [layers, heads, S, S]
};

// Move-only in spirit: copies share device, weights and plan, and must not run at the same time.
class HEED_API TextEncoder {
 public:
  // The directory holds config.json, model.safetensors (or shards with an index) and tokenizer.json or vocab.txt. If
  // it has 1_Pooling/config.json, that must ask for the mean of the tokens. Everything is checked against everything:
  // see read_bert_config, Checkpoint, BertWeights and WordPiece for the failures. On failure *encoder is unchanged.
  static Status open(Device& device, std::string_view directory, const TextEncoderOptions& options,
                     TextEncoder* encoder);

  bool valid() const { return plan_.valid(); }
  const BertConfig& config() const { return config_; }
  const WordPiece& tokenizer() const { return tokenizer_; }
  int64_t width() const { return config_.width; }
  int64_t max_tokens() const { return max_tokens_; }
  int64_t max_batch() const { return max_batch_; }
  DType weight_dtype() const { return weight_dtype_; }  // of matrices and tables
  const Plan& plan() const { return plan_; }
  const Weights& weights() const { return weights_; }
  // Identifies the model's files: a hash over configuration, tokenizer and all weights. Two encoders with the same
  // fingerprint give comparable vectors. Reads all weights: some milliseconds for 100 MB.
  uint64_t fingerprint() const { return fingerprint_; }

  // vectors [texts, width], each of length 1; text without any token in it gives the vector of "[CLS] [SEP]". Texts of
  // like length share a batch, so the order of work is not that of the texts. Text beyond max_tokens is left out;
  // if `truncated` is not null it counts such texts. InvalidArgument: vectors is too small.
  Status encode(std::span<const std::string_view> texts, std::span<float> vectors, size_t* truncated = nullptr,
                EncodeProgress progress = {}, size_t* done = nullptr);
  // One batch of at most max_batch texts of at most max_tokens tokens; vectors [count, width].
  Status encode(const TokenBatch& batch, std::span<float> vectors);

  // The attention weights of one text in all layers and heads, as many tokens of it as the model takes. Compiles a plan of
  // its own at each call. OutOfMemory: they would take more than 1 GiB.
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

// Pads id lists to a batch. `pad` fills the gaps.
HEED_API TokenBatch make_batch(std::span<const std::span<const int32_t>> lists, int32_t pad);

}  // namespace heed
