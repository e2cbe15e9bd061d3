// Code shared by the readers of Whisper's file formats.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_file.hpp"
#include "models/find_weights.hpp"
#include "models/whisper.hpp"

namespace heed::models {

// Each reads one format: folders with model.bin, folders of Hugging Face, files of whisper.cpp.
Status load_ctranslate2(const std::string& path, const Log& log, WhisperModel* model);
Status load_hugging_face(const std::string& path, const Log& log, WhisperModel* model);
Status load_ggml(const std::string& path, const Log& log, WhisperModel* model);

// Limits memory: samples of a window grow with the positions, 320 for each, and attention scores with their square.
inline constexpr int64_t kMostPositions = 1 << 16;

// A module of a layer, and the modules of a file whose rows it contains, in order.
struct PartModule {
  std::string_view name, parts[3];
};
// A format's names for the tensors of the graph.
struct PartNames {
  std::string_view tokens, positions;           // "decoder.embed_tokens.weight"; the suffix after a side's name
  std::string_view encoder_norm, decoder_norm;  // the final norms, without ".weight"
  std::string_view layers;                      // the text between "encoder" or "decoder" and a layer's number in names
  std::span<const PartModule> modules;
};

class WhisperLoader {
 public:
  WhisperLoader(const std::string& path, const Log& log, WhisperModel* model)
      : path_(path),
        log_(log),
        file_(model->file_),
        ggml_(model->ggml_),
        checkpoint_(model->checkpoint_),
        config_(model->config_),
        tokens_(model->tokens_),
        vocabulary_(model->vocabulary_),
        names_(model->names_),
        shapes_(model->shapes_),
        made_(model->made_),
        model_(*model) {}

 protected:
  std::vector<std::byte>& make(size_t bytes) { return made_.emplace_back(bytes); }
  // [out, in, taps] -> [out, taps, in]
  void put_channels_last(Stored* tensor);
  // Builds the network, which declares all weights.
  Status build(Graph* g) const;
  static bool may_be_quantized(const WeightInfo& weight);
  // Adds a tensor of the model.
  void add(const Stored& found);
  // Logs weights that are missing or have another shape or type, then tensors of the file that no weight uses, except those for which
  // `unused` is true.
  template <class Unused>
  Status tell(const WeightFinder& finder, Unused unused) const {
    const Status status = finder.status(Status::Unsupported, "tensors are of types that are not supported here: ");
    const Status left =
        finder.tell(finder.others(unused), Status::Unsupported, "has tensors that the network does not use: ");
    return status == Status::Ok ? left : status;
  }

  // Finds the weights that the network's graph declares; joined modules are found by their parts. All names begin with `wrapper`.
  template <class Unused>
  Status find_parts(std::span<const Stored> stored, const std::string& file, const PartNames& by, const char* wrapper,
                    Unused unused) {
    WeightFinder finder(stored, file, log_);
    const Status status = take_all(by, wrapper, &finder);
    return status == Status::Ok ? tell(finder, unused) : status;
  }

  // Names the time tokens at the end; they follow <|notimestamps|>.
  void name_times();
  // Finds the ids of special tokens by their names in the vocabulary.
  Status find_tokens();
  // Reads which tokens are never drawn, or not first in a window, from these lists of a JSON file, and "alignment_heads" and
  // "is_multilingual", if present.
  Status read_rules(const std::string& path, const char* suppressed, const char* at_first);
  // Vocabularies of English-only models are smaller, although both name all languages.
  bool seems_multilingual() const { return config_.vocabulary >= 51865; }

  std::filesystem::path path_;
  const Log& log_;
  CTranslate2& file_;
  GgmlWhisper& ggml_;
  Checkpoint& checkpoint_;
  WhisperConfig& config_;
  WhisperTokens& tokens_;
  std::vector<std::string>& vocabulary_;
  std::vector<std::string>& names_;
  std::vector<std::vector<int64_t>>& shapes_;
  std::vector<std::vector<std::byte>>& made_;
  std::string vocabulary_file_;

 private:
  int32_t find_token(std::string_view name) const;
  void read_ids(Fields* fields, const char* name, std::vector<int32_t>* ids) const;
  void read_alignment(Fields* fields) const;
  Status take_all(const PartNames& by, const char* wrapper, WeightFinder* finder);
  void take(const WeightInfo& weight, const std::vector<std::string>& names, WeightFinder* finder);
  void join(const std::vector<const Stored*>& parts, const WeightInfo& weight, Stored* whole);

  WhisperModel& model_;
  NameList mixed_;
};

}  // namespace heed::models
