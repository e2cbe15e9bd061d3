// Files that are either complete or absent.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace learn {

// Writes files beside the existing ones, and renames them once all are complete.
class Unfinished {
 public:
  Unfinished() = default;
  Unfinished(const Unfinished&) = delete;
  ~Unfinished() {
    std::error_code none;
    for (const std::string& path : paths_) std::filesystem::remove(place_of(path), none);
  }
  // The temporary path for `path`.
  std::string add(const std::string& path) { return place_of(paths_.emplace_back(path)); }
  bool finish(std::string* error) {
    std::error_code failed;
    for (const std::string& path : paths_) {
      if (!failed) std::filesystem::rename(place_of(path), path, failed);
      if (failed && error->empty()) *error = path + " cannot be written";
    }
    return !failed;
  }

 private:
  static std::string place_of(const std::string& path) { return path + ".new"; }
  std::vector<std::string> paths_;
};

}  // namespace learn
