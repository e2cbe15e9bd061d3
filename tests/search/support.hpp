// Shared by the tests of tokenizers, checkpoints and encoders: their data, logs, and folders to damage files in.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/safetensors.hpp>

#include "catch.hpp"

namespace heed::test {

inline std::filesystem::path data_folder() {
  return std::filesystem::path(HEED_SOURCE_DIR) / "tests" / "search" / "data";
}

// Collects what is logged.
struct Messages {
  std::string text;
  Log log() {
    return {[](void* user, LogLevel, const char* message) {
              static_cast<Messages*>(user)->text.append(message).append("\n");
            },
            this, LogLevel::Warning};
  }
  bool mention(std::string_view part) const { return text.find(part) != std::string::npos; }
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  REQUIRE(file.good());
}

// `text` with the one occurrence of `from` replaced.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// A copy of the tiny model that is removed at the end.
class ModelCopy {
 public:
  ModelCopy() {
    static int count = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("heed-search-" + std::to_string(reinterpret_cast<uintptr_t>(this)) + "-" + std::to_string(count++));
    std::filesystem::copy(data_folder() / "tiny", folder_);
  }
  ~ModelCopy() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  ModelCopy(const ModelCopy&) = delete;
  ModelCopy& operator=(const ModelCopy&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return folder_ / name; }
  std::string path() const { return folder_.string(); }
  void change(std::string_view name, std::string_view from, std::string_view to) {
    write_file(folder_ / name, replaced(read_file(folder_ / name), from, to));
  }

 private:
  std::filesystem::path folder_;
};

inline std::vector<float> floats_of(const SafeTensors& file, std::string_view name) {
  std::vector<float> values;
  const SafeTensors::Entry* entry = file.find(name);
  INFO(name);
  REQUIRE(entry != nullptr);
  REQUIRE(read_f32(*entry, stderr_log(), &values) == Status::Ok);
  return values;
}

inline std::vector<int32_t> ints_of(const SafeTensors& file, std::string_view name) {
  std::vector<int32_t> values;
  const SafeTensors::Entry* entry = file.find(name);
  INFO(name);
  REQUIRE(entry != nullptr);
  REQUIRE(read_i32(*entry, stderr_log(), &values) == Status::Ok);
  return values;
}

}  // namespace heed::test
