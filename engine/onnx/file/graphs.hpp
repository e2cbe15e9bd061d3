// Graphs, nodes and functions of an ONNX file.
#pragma once

#include "onnx/file/beside.hpp"
#include "onnx/file/message.hpp"
#include "onnx/model_file.hpp"

namespace heed::onnx::file {

constexpr int kMaxLevels = 8;  // nesting depth of graphs in attributes of nodes

// `level` is 0 for the model's own graph.
void read_graph(Message message, int level, FilesBeside* beside, FileGraph* graph);
void read_function(Message message, FilesBeside* beside, FileFunction* function);
void read_opset(Message message, FileOpset* opset);

// Normalizes a domain: "ai.onnx" becomes the empty name.
std::string domain_of(std::string_view name);
// How messages name a node and an attribute.
std::string node_place(std::string_view name, std::string_view op, size_t index);
std::string attribute_place(std::string_view name);

}  // namespace heed::onnx::file
