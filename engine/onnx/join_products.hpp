// Joins the query, key and value matmuls of one input.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "onnx/model_file.hpp"

namespace heed::onnx {

// Joined weights [out, in] by name, and the tensors [in, some of out] that each consists of, which are transposed.
using JoinedWeights = std::map<std::string, std::vector<FileTensor>, std::less<>>;

// Merges up to three consecutive MatMuls into one. They must read the same tensor, have different weights, optionally with biases, and
// their results must become heads by Reshape. Their weights become one initializer without data; joined_values computes it for the upload.
// Split nodes give the results their old names.
JoinedWeights join_products(FileGraph* graph);

// The values of a joined weight; null if there is not enough memory.
std::unique_ptr<std::byte[]> joined_values(std::span<const FileTensor> parts);

}  // namespace heed::onnx
