#include "base/sealed_blob.hpp"

#include <cstring>
#include <utility>

#include "base/fnv.hpp"
#include "base/try_resize.hpp"

namespace heed {
namespace {

constexpr size_t kMagicBytes = 8;
constexpr size_t kLeastBytes = kMagicBytes + 3 * sizeof(uint64_t);  // magic, key, count, FNV-1a of all bytes before it

}  // namespace

BlobWriter::BlobWriter(std::string_view magic, uint64_t key, uint64_t count) {
  append(magic.data(), kMagicBytes);
  append(&key, sizeof key);
  append(&count, sizeof count);
}

bool BlobWriter::reserve(uint64_t bytes) {
  const uint64_t all = blob_.size() + bytes + sizeof(uint64_t);
  if (all < bytes || !has_memory<std::byte>(all)) return false;
  blob_.reserve(static_cast<size_t>(all));
  return true;
}

void BlobWriter::append(const void* data, size_t bytes) {
  const size_t at = blob_.size();
  blob_.resize(at + bytes);
  if (bytes != 0) std::memcpy(blob_.data() + at, data, bytes);
}

std::byte* BlobWriter::extend(size_t bytes) {
  const size_t at = blob_.size();
  blob_.reserve(at + bytes + sizeof(uint64_t));
  blob_.resize(at + bytes);
  return blob_.data() + at;
}

std::vector<std::byte> BlobWriter::seal() {
  const uint64_t checksum = fnv1a(blob_);
  append(&checksum, sizeof checksum);
  return std::move(blob_);
}

BlobReader::BlobReader(std::span<const std::byte> blob, std::string_view magic, uint64_t key) {
  if (blob.size() < kLeastBytes || std::memcmp(blob.data(), magic.data(), kMagicBytes) != 0) return;
  uint64_t checksum = 0, written_key = 0;
  const std::span<const std::byte> sealed = blob.first(blob.size() - sizeof checksum);
  std::memcpy(&checksum, blob.data() + sealed.size(), sizeof checksum);
  state_ = State::Damaged;
  if (checksum != fnv1a(sealed)) return;
  data_ = sealed.subspan(kMagicBytes);
  (void)take(&written_key, sizeof written_key);
  (void)take(&count_, sizeof count_);
  state_ = written_key == key ? State::Usable : State::OtherKey;
}

bool BlobReader::take(void* target, size_t bytes) {
  if (data_.size() < bytes) return false;
  if (bytes != 0) std::memcpy(target, data_.data(), bytes);
  data_ = data_.subspan(bytes);
  return true;
}

}  // namespace heed
