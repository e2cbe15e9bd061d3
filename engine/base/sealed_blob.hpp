// A blob that a host keeps between starts: a magic word, the key of the device it is for, entries, and a checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace heed {

// `magic` has 8 characters. `count` is the number of entries that the caller appends.
class BlobWriter {
 public:
  BlobWriter(std::string_view magic, uint64_t key, uint64_t count);
  // Makes room for so many bytes and the seal; false where the host has no such memory.
  bool reserve(uint64_t bytes);
  void append(const void* data, size_t bytes);
  // Appends bytes that the caller fills in before the next call. Reserves room for the checksum.
  std::byte* extend(size_t bytes);
  std::vector<std::byte> seal();  // no append afterwards

 private:
  std::vector<std::byte> blob_;
};

class BlobReader {
 public:
  enum class State : uint8_t { Usable, NotOne, Damaged, OtherKey };

  BlobReader(std::span<const std::byte> blob, std::string_view magic, uint64_t key);
  State state() const { return state_; }
  uint64_t count() const { return count_; }
  // Reads bytes from the front; false if there are too few.
  bool take(void* target, size_t bytes);
  void skip(size_t bytes) { data_ = data_.subspan(bytes); }  // at most rest().size()
  std::span<const std::byte> rest() const { return data_; }
  bool at_end() const { return data_.empty(); }

 private:
  State state_ = State::NotOne;
  uint64_t count_ = 0;
  std::span<const std::byte> data_;
};

}  // namespace heed
