// Tensors of an ONNX file, in all encodings of values that the standard has.
#pragma once

#include "onnx/file/beside.hpp"
#include "onnx/file/message.hpp"
#include "onnx/model_file.hpp"

namespace heed::onnx::file {

void read_tensor(Message message, FilesBeside* beside, FileTensor* tensor);
// Reads name and dims of a sparse tensor, whose values are ignored.
void read_sparse_tensor(Message message, FileTensor* tensor);

// How messages name a tensor.
std::string tensor_place(std::string_view name);

}  // namespace heed::onnx::file
