#include "io/mapped_file.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/arith.hpp"
#include "base/logging.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define HEED_HAS_MMAP 1
#else
#include <cstdio>
#include <memory>
#endif

namespace heed {

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

// Swapping keeps the spans valid, since a moved vector keeps its memory.
MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  std::swap(copy_, other.copy_);
  return *this;
}

#if HEED_HAS_MMAP

namespace {

// Closes the file on scope exit; the mapping stays valid without the descriptor.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Status unreadable(const Log& log, const std::string& path) {
  return fail(log, Status::NotFound, format("%s: cannot be read: %s", path.c_str(), std::strerror(errno)));
}

}  // namespace

MappedFile::~MappedFile() {
  if (mapped_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::release(std::span<const std::byte> some) const {
  const std::less_equal<const std::byte*> not_behind;
  const std::byte* const end = some.data() + some.size();
  if (!mapped_ || !not_behind(bytes_.data(), some.data()) || !not_behind(end, bytes_.data() + bytes_.size())) return;
  // Also releases the pages around the range: the system may map two megabytes at one access, and thus bring back pages that were released.
  // Pages are never written, so any page still needed is read again.
  constexpr size_t kMapped = 2u << 20;
  const auto address = [](const std::byte* at) { return reinterpret_cast<uintptr_t>(at); };
  const uintptr_t from = std::max(address(bytes_.data()), address(some.data()) / kMapped * kMapped);
  const uintptr_t to = std::min(address(bytes_.data()) + bytes_.size(), align_up<uintptr_t>(address(end), kMapped));
  if (from < to) (void)::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

Status MappedFile::open(const std::string& path, const Log& log, MappedFile* file) {
  // O_NONBLOCK lets a pipe without a writer fail instead of hanging.
  const Descriptor descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (descriptor.fd < 0) return unreadable(log, path);
  struct stat info{};
  if (::fstat(descriptor.fd, &info) != 0) return unreadable(log, path);
  if (!S_ISREG(info.st_mode)) return fail(log, Status::NotFound, format("%s: is not a regular file", path.c_str()));

  MappedFile opened;
  const size_t size = static_cast<size_t>(info.st_size);
  if (size > 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.fd, 0);
    if (address == MAP_FAILED) return unreadable(log, path);
    opened.bytes_ = {static_cast<const std::byte*>(address), size};
    opened.mapped_ = true;
  }
  *file = std::move(opened);
  return Status::Ok;
}

#else

MappedFile::~MappedFile() = default;

void MappedFile::release(std::span<const std::byte>) const {}

Status MappedFile::open(const std::string& path, const Log& log, MappedFile* file) {
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  const std::unique_ptr<std::FILE, Close> input(std::fopen(path.c_str(), "rb"));
  if (!input) return fail(log, Status::NotFound, format("%s: cannot be read", path.c_str()));
  MappedFile opened;
  std::byte chunk[65536];
  for (size_t n; (n = std::fread(chunk, 1, sizeof chunk, input.get())) > 0;)
    opened.copy_.insert(opened.copy_.end(), chunk, chunk + n);
  if (std::ferror(input.get())) return fail(log, Status::NotFound, format("%s: cannot be read", path.c_str()));
  opened.bytes_ = opened.copy_;
  *file = std::move(opened);
  return Status::Ok;
}

#endif

}  // namespace heed
