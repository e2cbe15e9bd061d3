// Tensors of an ONNX file, in any of the encodings that the standard has for their values.
#pragma once

#include "onnx/file/beside.hpp"
#include "onnx/file/message.hpp"
#include "onnx/model_file.hpp"

namespace heed::onnx::file {

void read_tensor(Message message, FilesBeside* beside, FileTensor* tensor);
// Name and dims of a sparse tensor, whose values stay unread.
void read_sparse_tensor(Message message, FileTensor* tensor);

// How messages call a tensor of this name.
std::string tensor_place(std::string_view name);

}  // namespace heed::onnx::file
