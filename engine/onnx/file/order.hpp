// What nodes read must be there before them, and each name is made once.
#pragma once

#include "onnx/model_file.hpp"

namespace heed::onnx::file {

// These throw a Problem that names the node.
void check_order(const FileGraph& graph);
void check_order(const FileFunction& function);

}  // namespace heed::onnx::file
