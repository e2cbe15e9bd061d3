// The bytes of one file, read-only.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <heed/status.hpp>

namespace heed {

// Mapped where the system can do that, else read into memory. Move-only.
class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  // NotFound if the file does not exist, cannot be read or is no regular file.
  static Status open(const std::string& path, const Log& log, MappedFile* file);

  std::span<const std::byte> bytes() const { return bytes_; }
  // Gives the memory of these bytes back to the system, which reads them from the file again when they are wanted again. Does
  // nothing for bytes of other memory.
  void release(std::span<const std::byte> some) const;

 private:
  std::span<const std::byte> bytes_;
  bool mapped_ = false;
  std::vector<std::byte> copy_;
};

}  // namespace heed
