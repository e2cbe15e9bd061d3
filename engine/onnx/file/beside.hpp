// The files beside a model that hold values of its tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/mapped_file.hpp"

namespace heed::onnx::file {

// Where a tensor says that its values lie. Members that it does not say are null.
struct Elsewhere {
  std::string_view location, offset, length;
};

class FilesBeside {
 public:
  explicit FilesBeside(std::string_view folder) : folder_(folder) {}

  // The `bytes` bytes that a tensor asks for; *keeps holds on to their file. Throws a Problem.
  std::span<const std::byte> find(const Elsewhere& where, uint64_t bytes, std::shared_ptr<const void>* keeps);

 private:
  std::string folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> files_;  // by their paths in the folder
};

}  // namespace heed::onnx::file
