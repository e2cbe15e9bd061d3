// Parts of networks that several families share.
#pragma once

#include <string>

#include <heed/nn.hpp>

#include "models/family.hpp"

namespace heed::models {

// A weight [rows, width] of the type with which the graph already declares it, else of `dtype`.
Tensor table(Graph& g, const std::string& name, int64_t rows, int64_t width, DType dtype);

// Whether this layer attends to all tokens in a model with sliding windows.
bool sees_all(const DecoderConfig& config, int layer);

// Options that layers of all decoders share: heads, cache, window, width and pre-norm.
nn::EncoderLayerOptions common_layer(const Layer& layer);

}  // namespace heed::models
