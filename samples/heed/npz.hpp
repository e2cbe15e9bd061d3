// Reads arrays from numpy's .npz files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heed::program {

struct NumpyArray {
  enum class Type : uint8_t { F32, F64, F16, I32, I64, U8, Bool };
  Type type = Type::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;  // row-major

  int64_t elements() const;
  double at(int64_t i) const;
};

// The arrays by their names in the file, without ".npy". Returns false, with the reason in `wrong`, if the file cannot be read.
bool read_npz(const std::string& path, std::map<std::string, NumpyArray>* arrays, std::string* wrong);

}  // namespace heed::program
