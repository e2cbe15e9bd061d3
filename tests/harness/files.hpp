// Reads whole files.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "harness/catch.hpp"

namespace heed::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace heed::test
