// Queries, keys and values of one input as one product.
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

// Weights [out, in] by their names, and the tensors [in, some of out] that each is made of, which are transposed.
using JoinedWeights = std::map<std::string, std::vector<FileTensor>, std::less<>>;

// Makes one MatMul of up to three that follow each other, read the same tensor, have weights of their own, perhaps with biases, and whose
// results become heads by Reshape. Their weights become one initializer without data, which joined_values makes when it is uploaded. Their
// results are split off the one product, and have the names that they had.
JoinedWeights join_products(FileGraph* graph);

// The values of a joined weight; null if there is no memory.
std::unique_ptr<std::byte[]> joined_values(std::span<const FileTensor> parts);

}  // namespace heed::onnx
