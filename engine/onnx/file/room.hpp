// Memory for the objects of a message, reserved once they are counted. To keep a field of two bytes from becoming an object of 300 bytes,
// messages that become large objects must have a minimum size.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "base/logging.hpp"
#include "onnx/file/message.hpp"
#include "onnx/model_file.hpp"

namespace heed::onnx::file {

constexpr size_t kLeastNode = 3;       // a type
constexpr size_t kLeastAttribute = 6;  // a name and a type
constexpr size_t kLeastFunction = 3;   // a name

// Bytes of memory per byte of the file, for objects whose message has the minimum size. Two further bytes of the file, number and length,
// precede it. The memory of order.cpp for an output is less than the remainder up to 64.
constexpr size_t kMost = 56;
static_assert(sizeof(FileNode) <= kMost * (2 + kLeastNode) && sizeof(FileFunction) <= kMost * (2 + kLeastFunction));
static_assert(sizeof(FileAttribute) + sizeof(FileGraph) + 2 * sizeof(void*) <= kMost * (2 + kLeastAttribute));
static_assert(sizeof(FileTensor) <= kMost * 2 && sizeof(FileValue) <= kMost * 2 && sizeof(FileDim) <= kMost * 2);
static_assert(sizeof(std::string) <= kMost * 2 && sizeof(FileOpset) <= kMost * 2);

// Reserves room for as many objects as the message has fields of these numbers. Stops at one with fewer than `least` bytes.
template <class T>
void make_room(Message message, std::initializer_list<uint32_t> fields, const char* what, size_t least,
               std::vector<T>* objects) {
  size_t count = 0;
  while (message.next()) {
    if (std::find(fields.begin(), fields.end(), message.field()) == fields.end())
      message.skip();
    else if (message.bytes().size() < least)
      stop(format("%s %zu lacks a name or a type", what, count));
    else
      ++count;
  }
  objects->reserve(count);
}

}  // namespace heed::onnx::file
