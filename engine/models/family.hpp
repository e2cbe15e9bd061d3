// Descriptions of families of decoders. A family's file (llama.cpp, qwen.cpp, ...) defines one; the build collects them, so that no list
// names them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/decoder.hpp>

namespace heed::models {

class JsonConfig;
class GgufConfig;

// The names of the parts around the layers in Hugging Face checkpoints.
struct DecoderNames {
  std::string_view tokens = {};     // the token table
  std::string_view positions = {};  // the position table; "": the family uses rotary embedding
  std::string_view layers = {}, norm = {}, head = {};
};

// A layer that is being added to a graph.
struct Layer {
  const DecoderConfig& config;
  const DecoderOptions& options;
  std::string name;             // prefix of the names of its weights
  int index = 0;                // from 0
  Tensor* attention = nullptr;  // receives its attention weights if not null
};

// A module of a checkpoint and its name in a GGUF file, both without the layer's prefix and ".weight".
struct GgufName {
  std::string_view module, gguf;
};

struct DecoderFamily {
  std::string_view name;  // also "general.architecture" in GGUF files and "model_type" in config.json
  std::span<const std::string_view> other_types = {};  // other values of "model_type" for the same network
  DecoderNames names = {};
  std::span<const GgufName> gguf_names = {};
  std::string_view wrapper = {};  // optional prefix of all names in a checkpoint except `names.head`
  // Suffixes of names of additional tensors that can be ignored.
  std::span<const std::string_view> unused = {};
  nn::NormKind final_norm = nn::NormKind::Rms;
  bool scales_tokens = false;  // rows of the token table are multiplied by the square root of the width
  // Added to norm weights of Hugging Face's checkpoints. Such families have no other vectors among their weights.
  float norm_offset = 0.0f;
  // Keys of GGUF files that only this family reads; other families refuse them.
  std::span<const std::string_view> gguf_keys = {};

  // Fill the configuration; the first failure is kept in their fields.
  void (*read_json)(JsonConfig& from) = nullptr;
  void (*read_gguf)(GgufConfig& from) = nullptr;
  // x [B, S, width] -> [B, S, width]
  Tensor (*add_layer)(Graph& g, Tensor x, const Layer& layer) = nullptr;
};

// A file of this folder defines one or more families, as `extern constinit const DecoderFamily NAME = {...}` at the beginning of a line;
// models.cmake makes the list from these lines.
std::span<const DecoderFamily* const> all_families();
const DecoderFamily* find_family(std::string_view name);  // null if there is none
const DecoderFamily* find_model_type(std::string_view type);

// The name in a GGUF file of a weight that the network declares; "" if it has none.
std::string gguf_name(const DecoderFamily& family, std::string_view weight);

// "a, b and c"
std::string listed(std::span<const std::string_view> names);

// Far above every published model, and small enough that a product of two sizes does not overflow.
inline constexpr int64_t kMaxDecoderSize = 1 << 24;

}  // namespace heed::models
