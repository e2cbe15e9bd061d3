// The weights that nn::decoder asks for, by their names in both kinds of files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/decoder.hpp>

namespace heed {

struct DecoderTensor {
  std::string name;  // as nn::decoder and Hugging Face's checkpoints have it
  std::string gguf;  // its name in a GGUF file
  std::vector<int64_t> shape;
  bool may_be_quantized = false;  // a matrix of a product, or the table of tokens
};

// The configuration's sizes and layers must be within the bounds below.
std::vector<DecoderTensor> decoder_tensors(const DecoderConfig& config);

// Far above every published model, and so small that no product of two sizes overflows.
inline constexpr int64_t kMaxDecoderSize = 1 << 24;

}  // namespace heed
