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

// Reads the numbers of a network from a GGUF file's metadata: "general.architecture" is one of decoder_families(), such as llama
// (of which Mistral and SmolLM2 are). Queries and keys of llama are turned as neighbours (RotaryPairs::Adjacent), for which such
// files order their rows. The factors in "rope_freqs.weight" become a RotaryScaling.
// MissingWeight: the file lacks the table of tokens, or of GPT-2's positions, whose rows are counted. InvalidFile: a number is
// missing, of the wrong type or out of range. Unsupported: another architecture, or a setting by which the network would be
// another one, such as experts or a scaling of rotation other than those of RotaryScaling. The message has the key and its value.
// Keys of the architecture that are not known are named in a warning. On failure *config is unchanged.
HEED_API Status read_decoder_config(const Gguf& file, const Log& log, DecoderConfig* config);

// Reads them from a Hugging Face config.json whose [model_type] is one of decoder_families(), mistral or gemma3_text, with
// the same failures. `name` stands for the file in messages.
HEED_API Status parse_decoder_config(std::string_view json, std::string_view name, const Log& log,
                                     DecoderConfig* config);

// Owns the mapped files. Move-only. Views that it returns are valid while it lives, also after a move.
class HEED_API DecoderModel {
 public:
  DecoderModel();
  ~DecoderModel();
  DecoderModel(DecoderModel&&) noexcept;
  DecoderModel& operator=(DecoderModel&&) noexcept;

  // `path` is a GGUF file, or a folder with config.json and safetensors (Checkpoint::open says which). All tensors of the
  // network must be there with the shapes that the numbers ask for, or the log names them, at most 20: MissingWeight,
  // ShapeMismatch, or Unsupported if heed cannot store their type. Tensors beside them are Unsupported too, since they would
  // be parts of another network; those that are known to have no effect are left out. On failure *model is unchanged.
  static Status open(std::string_view path, const Log& log, DecoderModel* model);
  // Takes a file that is open already; on failure it is gone.
  static Status open(Gguf file, const Log& log, DecoderModel* model);

  bool valid() const { return contents_ != nullptr; }
  // The network's numbers, as the files give them.
  const DecoderConfig& config() const;
  // Its metadata has the tokenizer and the chat template. Null if the model is a folder.
  const Gguf* gguf() const;
  // The network's weights by the names that nn::decoder asks for. Matrices and the table of tokens lie in the file, of the
  // types that it has for them. Biases, factors of norms and the table of positions are F32; they are copies where the file
  // has another type, and where folders leave 1 out of the factors, as Gemma's do.
  std::span<const HostTensor> tensors() const;
  uint64_t bytes() const;  // the size of tensors()

  // Uploads tensors(). If options.dtype is F32, matrices stay as they are, or are converted to options.weight_dtype if that is
  // set: F32, F16 or BF16. With another dtype all weights are converted to it. Other options do not count.
  Status upload(Device& device, const DecoderOptions& options, Weights* weights, UploadProgress progress = {}) const;
  // Adds the decoder to a graph that will run with weights of upload(), called with the same dtype and weight_dtype.
  // options.prefix must be empty.
  DecoderResult build(Graph& g, Tensor ids, const DecoderOptions& options = {}) const;

 private:
  struct Contents;
  static Status finish(std::unique_ptr<Contents> contents, const Log& log, DecoderModel* model);

  std::unique_ptr<Contents> contents_;
};

}  // namespace heed
