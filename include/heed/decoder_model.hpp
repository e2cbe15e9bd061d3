// DecoderModel: a language model's network and weights in files, for nn::decoder.
//
//   heed::DecoderModel model;
//   heed::Status s = heed::DecoderModel::open("model.gguf", heed::stderr_log(), &model);
//   heed::Weights weights;
//   if (s == heed::Status::Ok) s = model.upload(device, {}, &weights);
//
//   heed::Graph g;
//   heed::Dim past = g.position("past", 511), tokens = g.extent("tokens", 32);
//   heed::Tensor ids = g.input("ids", {1, tokens}, heed::DType::I32);
//   g.output("next", g.argmax(model.build(g, ids, {.cache = {.capacity = 512, .past = past}}).logits));
//   if (s == heed::Status::Ok) s = device.compile(g, weights, &plan);
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <heed/checkpoint.hpp>
#include <heed/decoder.hpp>
#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/gguf.hpp>
#include <heed/status.hpp>

namespace heed {

// Reads a network's configuration from a GGUF file's metadata: "general.architecture" is one of decoder_families(), such as llama (which
// includes Mistral and SmolLM2). Rotary pairs of llama are RotaryPairs::Adjacent, since these files order the rows of queries and keys for
// it. The factors in "rope_freqs.weight" become a RotaryScaling. MissingWeight: the file lacks the token table, or GPT-2's position table;
// the rows of both are counted. InvalidFile: a number is missing, of the wrong type or out of range. Unsupported: another architecture, or
// a setting that heed does not implement, such as experts or a rotary scaling other than RotaryScaling's. The message has the key and its
// value. Keys of the architecture that are not known are named in a warning. On failure *config is unchanged.
HEED_API Status read_decoder_config(const Gguf& file, const Log& log, DecoderConfig* config);

// Reads the same from a Hugging Face config.json whose [model_type] is one of decoder_families(), mistral or gemma3_text, with the same
// failures. `name` stands for the file in messages.
HEED_API Status parse_decoder_config(std::string_view json, std::string_view name, const Log& log,
                                     DecoderConfig* config);

// Owns the mapped files. Move-only. Views that it returns are valid while it lives, also after a move.
class HEED_API DecoderModel {
 public:
  DecoderModel();
  ~DecoderModel();
  DecoderModel(DecoderModel&&) noexcept;
  DecoderModel& operator=(DecoderModel&&) noexcept;

  // `path` is a GGUF file, or a folder with config.json and safetensors (Checkpoint::open says which). Every tensor of the network must be
  // present with the shape that the configuration implies; otherwise the log names up to 20 of them: MissingWeight, ShapeMismatch, or
  // Unsupported if heed cannot store the type. Additional tensors are Unsupported, since they would belong to another network; those that
  // are known to have no effect are ignored. On failure *model is unchanged.
  static Status open(std::string_view path, const Log& log, DecoderModel* model);
  // Takes over a file that is already open; on failure it is closed.
  static Status open(Gguf file, const Log& log, DecoderModel* model);

  bool valid() const { return contents_ != nullptr; }
  // The network's configuration, as the files state it.
  const DecoderConfig& config() const;
  // The GGUF file, whose metadata has the tokenizer and the chat template. Null if the model is a folder.
  const Gguf* gguf() const;
  // The network's weights by the names that nn::decoder asks for. Matrices and the token table lie in the mapped file, in the file's types.
  // Biases, norm factors and the position table are F32. They are copies where the file has another type, and where a folder stores norm
  // factors minus 1, as Gemma's do.
  std::span<const HostTensor> tensors() const;
  uint64_t bytes() const;  // the size of tensors()

  // Uploads tensors(). If options.dtype is F32, matrices keep their type, or are converted to options.weight_dtype if that is set: F32, F16
  // or BF16. With another dtype all weights are converted to it. Other options have no effect.
  Status upload(Device& device, const DecoderOptions& options, Weights* weights, UploadProgress progress = {}) const;
  // Adds the decoder to a graph that will run with weights from upload(), called with the same dtype and weight_dtype. options.prefix must
  // be empty.
  DecoderResult build(Graph& g, Tensor ids, const DecoderOptions& options = {}) const;

 private:
  struct Contents;
  static Status finish(std::unique_ptr<Contents> contents, const Log& log, DecoderModel* model);

  std::unique_ptr<Contents> contents_;
};

}  // namespace heed
