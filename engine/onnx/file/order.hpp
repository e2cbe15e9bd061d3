// Checks that nodes read only what was defined before, and that each name is defined once.
#pragma once

#include "onnx/model_file.hpp"

namespace heed::onnx::file {

// Throw a Problem that names the node.
void check_order(const FileGraph& graph);
void check_order(const FileFunction& function);

}  // namespace heed::onnx::file
