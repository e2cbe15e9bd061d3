// What heed knows of each family of decoders. A family's file (llama.cpp, qwen.cpp, ...) describes it; the build collects the
// descriptions, so that no list names them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/decoder.hpp>

namespace heed::models {

class JsonConfig;
class GgufConfig;

// The names that checkpoints of Hugging Face give to the parts around the layers.
struct DecoderNames {
  std::string_view tokens = {};     // the table of tokens
  std::string_view positions = {};  // a table of positions; "": rotation tells them
  std::string_view layers = {}, norm = {}, head = {};
};

// A layer that is being added to a graph.
struct Layer {
  const DecoderConfig& config;
  const DecoderOptions& options;
  std::string name;             // comes before the names of its weights
  int index = 0;                // 0: the first
  Tensor* attention = nullptr;  // where its attention weights go, if they are asked for
};

// A module of a checkpoint and its name in a GGUF file, both without what comes before (the layer) and behind (".weight").
struct GgufName {
  std::string_view module, gguf;
};

struct DecoderFamily {
  std::string_view name;  // also "general.architecture" in GGUF files and "model_type" in config.json
  std::span<const std::string_view> other_types = {};  // other values of "model_type" that mean this network
  DecoderNames names = {};
  std::span<const GgufName> gguf_names = {};
  std::string_view wrapper = {};  // may come before all names of a checkpoint but that of `names.head`
  // Ends of the names of tensors that a file may have beside the network's, since they change nothing.
  std::span<const std::string_view> unused = {};
  nn::NormKind final_norm = nn::NormKind::Rms;
  bool scales_tokens = false;  // rows of the table of tokens are multiplied by the root of the width
  // Is added to the weights of norms in Hugging Face's checkpoints. Such families have no other vectors among their weights.
  float norm_offset = 0.0f;
  // Keys of GGUF files that only this family reads; in files of others they are refused.
  std::span<const std::string_view> gguf_keys = {};

  // Fill the config; the first failure sticks in their fields.
  void (*read_json)(JsonConfig& from) = nullptr;
  void (*read_gguf)(GgufConfig& from) = nullptr;
  // x [B, S, width] -> [B, S, width]
  Tensor (*add_layer)(Graph& g, Tensor x, const Layer& layer) = nullptr;
};

// A file of this folder defines one or more of these, as `extern constinit const DecoderFamily NAME = {...}` at the beginning of a line,
// from which models.cmake makes the list.
std::span<const DecoderFamily* const> all_families();
const DecoderFamily* find_family(std::string_view name);  // null if there is none
const DecoderFamily* find_model_type(std::string_view type);

// The name in a GGUF file of a weight that the network asks for; "" if it has none.
std::string gguf_name(const DecoderFamily& family, std::string_view weight);

// "a, b and c"
std::string listed(std::span<const std::string_view> names);

// Far above every published model, and so small that no product of two sizes overflows.
inline constexpr int64_t kMaxDecoderSize = 1 << 24;

}  // namespace heed::models
