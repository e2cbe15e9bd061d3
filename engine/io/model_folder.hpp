// The files of a model's folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace heed {

inline bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Whether this is the name of a file or folder directly in the model's folder: no separators, no "..".
inline bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() < 256 && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\:\0", 4)) == std::string::npos;
}

}  // namespace heed
