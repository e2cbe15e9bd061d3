// Whisper (Radford et al. 2022, arXiv:2212.04356): from sound to the logits of tokens.
//
// Weights have the names of CTranslate2's files, with dots: "encoder.layer_0.self_attention.linear_0.weight" holds the rows of
// queries, then keys, then values; "decoder.layer_0.attention.linear_1.weight" those of the keys and values of cross attention.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <heed/checkpoint.hpp>
#include <heed/device.hpp>
#include <heed/graph.hpp>
#include <heed/speech.hpp>
#include <heed/status.hpp>

#include "io/ctranslate2.hpp"
#include "io/ggml_whisper.hpp"

namespace heed::models {

struct WhisperSide {
  int layers = 0;
  int64_t heads = 0, hidden = 0;  // attention heads; width of the feed-forward
  int64_t positions = 0;          // number of positions
};

struct WhisperConfig {
  int64_t width = 0, bands = 0, vocabulary = 0;  // width of a token's row; mel bands of a frame; tokens
  WhisperSide encoder, decoder;
  std::vector<std::pair<int, int>> aligning;  // as the file states them; see aligning_heads()

  // A frame begins every kHop samples; the second convolution combines two frames to one position.
  static constexpr int64_t kRate = kSpeechRate, kHop = 160, kFrame = 400, kPosition = 2 * kHop;  // in samples
  int64_t frames() const { return 2 * encoder.positions; }
  int64_t window() const { return encoder.positions * kPosition; }  // samples
  // Heads of the decoder's cross attention, (layer, head) in ascending order, whose weights align tokens with the sound: those that the
  // file names, else all heads of the upper half of the layers.
  std::vector<std::pair<int, int>> aligning_heads() const;
};

// Ids of special tokens. Ids below `end` are text.
struct WhisperTokens {
  int32_t end = -1, start = -1, translate = -1, transcribe = -1, previous = -1, no_speech = -1, no_times = -1;
  int32_t first_time = -1;                    // 0 s; each further one is 0.02 s later
  bool multilingual = false;                  // `start` is followed by a language and a task
  std::vector<int32_t> suppressed, at_first;  // ids that are never drawn; ids that are not drawn first in a window
};

struct WhisperOptions {
  std::optional<DType> weight_dtype = {};  // storage of matrices: F32, F16, BF16 or Q8_0; default: as in the file
  std::optional<DType> cache_dtype = {};   // storage of keys and values: F16 or BF16; default: F32
};

// Must not be moved, since its tensors are views of its own members.
class WhisperModel {
 public:
  WhisperModel() = default;
  WhisperModel(const WhisperModel&) = delete;
  WhisperModel& operator=(const WhisperModel&) = delete;

  // `path` is a folder of CTranslate2 (model.bin, config.json, vocabulary.txt or vocabulary.json) or of Hugging Face (config.json,
  // tokenizer.json, safetensors), or a file of whisper.cpp. All tensors of the network must be present with matching shapes: MissingWeight,
  // ShapeMismatch, or Unsupported for types that heed cannot store and for additional tensors. Call it once; after a failure the object
  // cannot be used.
  Status open(const std::string& path, const Log& log);

  const WhisperConfig& config() const { return config_; }
  const WhisperTokens& tokens() const { return tokens_; }
  // Tokens by their ids, bytes written as GPT-2's letters.
  std::vector<std::string> take_vocabulary() { return std::move(vocabulary_); }
  std::span<const HostTensor> tensors() const { return tensors_; }
  Status upload(Device& device, const WhisperOptions& options, Weights* weights, UploadProgress progress) const;
  // Returns pages of the file to the system; see MappedFile.
  void release(std::span<const std::byte> data) const;
  // Frees values that were converted; nothing can be uploaded afterwards. Names, shapes and types stay, for the graphs of later plans.
  void forget_values();

  // Samples [1, window] at kRate, F32 of -1 to 1 -> the log-mel spectrogram [1, frames, bands].
  Tensor mel(Graph& g, Tensor samples) const;
  // mel -> [1, encoder.positions, width], after the last norm.
  Tensor encode(Graph& g, Tensor mel, const WhisperOptions& options) const;
  // Writes the keys and values of cross attention to states, once per window.
  void remember(Graph& g, Tensor encoded, const WhisperOptions& options) const;
  // Ids [1, S] after the `past` tokens in the states -> [1, S, width], after the last norm. *looks receives the weights of the alignment
  // heads, [1, heads, S, encoder.positions].
  Tensor decode(Graph& g, Tensor ids, Dim past, const WhisperOptions& options, Tensor* looks = nullptr) const;
  // Rows of decode() -> [1, S, vocabulary].
  Tensor logits(Graph& g, Tensor rows, const WhisperOptions& options) const;

 private:
  friend class WhisperLoader;
  void declare(Graph& g, bool encodes, const WhisperOptions& options) const;

  CTranslate2 file_;  // exactly one of these three is open
  GgmlWhisper ggml_;
  Checkpoint checkpoint_;
  WhisperConfig config_;
  WhisperTokens tokens_;
  std::vector<std::string> vocabulary_;
  std::vector<HostTensor> tensors_;  // views of names_, and of values in the file or in made_
  std::vector<std::string>
      names_;  // reserved before it is filled: tensors are views of its strings, and short strings would move with the
               // vector
  std::vector<std::vector<int64_t>> shapes_;  // shapes of tensors whose axes were reordered
  std::vector<std::vector<std::byte>> made_;
};

// Whether a weight is a position table, which is never quantized.
bool is_position_table(std::string_view name);

// Triangular filters over the bins of a spectrum, [bands, kFrame / 2 + 1], on Slaney's mel scale (mel 15 is 1 kHz), each with an area of 1,
// as in librosa.
std::vector<double> mel_triangles(int64_t bands);

}  // namespace heed::models
