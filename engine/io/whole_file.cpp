#include "io/whole_file.hpp"

#include <cstdio>
#include <filesystem>
#include <system_error>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace heed {
namespace {

bool write_parts(std::FILE* file, std::span<const std::span<const std::byte>> parts) {
  bool written = true;
  for (const std::span<const std::byte> part : parts)
    written = written && std::fwrite(part.data(), 1, part.size(), file) == part.size();
  written = written && std::fflush(file) == 0;
#if defined(__unix__) || defined(__APPLE__)
  // Without it, the rename might reach the disk before the data.
  written = written && ::fsync(::fileno(file)) == 0;
#endif
  return written;
}

}  // namespace

bool write_whole_file(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  const std::string unfinished = path + ".part";
  std::FILE* const file = std::fopen(unfinished.c_str(), "wb");
  if (file == nullptr) return false;
  bool written = write_parts(file, parts);
  written = std::fclose(file) == 0 && written;
  std::error_code error;
  if (written) std::filesystem::rename(unfinished, path, error);
  if (written && !error) return true;
  std::error_code ignored;
  std::filesystem::remove(unfinished, ignored);
  return false;
}

}  // namespace heed
