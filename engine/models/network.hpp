// Parts of networks that several families have.
#pragma once

#include <string>

#include <heed/nn.hpp>

#include "models/family.hpp"

namespace heed::models {

// A weight [rows, width] of the type that it was declared with before, else of `dtype`.
Tensor table(Graph& g, const std::string& name, int64_t rows, int64_t width, DType dtype);

// Whether a layer of this number has no window where others have one.
bool sees_all(const DecoderConfig& config, int layer);

// What layers of all decoders have: heads, cache, window, width and pre-norm.
nn::EncoderLayerOptions common_layer(const Layer& layer);

}  // namespace heed::models
