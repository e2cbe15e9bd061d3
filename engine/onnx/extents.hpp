// The extents of a run, from the shapes of a graph's inputs.
#pragma once

#include <string>

#include <heed/onnx.hpp>

namespace heed::onnx {

// Finds the extents. Returns "", or a message if the shapes are wrong. `inputs` are those of the file: the graph lacks those that are empty
// or states, but may have extents of their dims.
std::string find_extents(const Graph& g, std::span<const OnnxTensor> inputs, std::span<const OnnxShape> shapes,
                         std::vector<ExtentValue>* extents);

}  // namespace heed::onnx
