// The bytes of one file, read-only.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <heed/status.hpp>

namespace heed {

// Mapped if the system supports it, else read into memory. Move-only.
class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  // NotFound if the file does not exist, cannot be read or is not a regular file.
  static Status open(const std::string& path, const Log& log, MappedFile* file);

  std::span<const std::byte> bytes() const { return bytes_; }
  // Returns the memory of these bytes to the system, which reads them from the file again at the next access. Does nothing for bytes
  // outside the file.
  void release(std::span<const std::byte> some) const;

 private:
  std::span<const std::byte> bytes_;
  bool mapped_ = false;
  std::vector<std::byte> copy_;
};

}  // namespace heed
