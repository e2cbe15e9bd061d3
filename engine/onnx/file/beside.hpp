// External files of a model, which hold values of its tensors.
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

// The location of a tensor's external data. Members that the file does not state are null.
struct Elsewhere {
  std::string_view location, offset, length;
};

class FilesBeside {
 public:
  explicit FilesBeside(std::string_view folder) : folder_(folder) {}

  // The external data of a tensor; *keeps keeps their file open. Throws a Problem.
  std::span<const std::byte> find(const Elsewhere& where, uint64_t bytes, std::shared_ptr<const void>* keeps);

 private:
  std::string folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> files_;  // by path in the folder
};

}  // namespace heed::onnx::file
