// Reader of CTranslate2's model.bin: named tensors of one network, without its structure.
//
// Everything but the values is checked before open returns: every count, length and type fits, no name occurs twice, every alias refers to
// a tensor, and no data follows the end. Counts that exceed the file's size do not lead to allocations.
//
// Layout, little-endian: version (6), the network's name and revision; the number of tensors, each with name, shape (outermost first),
// type, number of bytes and values, at any alignment; the number of aliases, each with its name and a tensor's. A text is preceded by its
// length as u16, which includes the zero byte at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/status.hpp>

#include "io/mapped_file.hpp"

namespace heed {

// Owns a mapping of the file; views that it returns are valid while it lives.
class CTranslate2 {
 public:
  CTranslate2() = default;
  CTranslate2(const CTranslate2&) = delete;
  CTranslate2& operator=(const CTranslate2&) = delete;

  static constexpr size_t kMaxDims = 4;

  // The types, by the file's numbers.
  enum class Type : uint8_t { F32, I8, I16, I32, F16, BF16 };
  static const char* name_of(Type type);

  struct Entry {
    std::string_view name;
    Type type = Type::F32;
    std::vector<int64_t> shape;  // empty: a scalar; sizes are at least 1
    std::span<const std::byte> data;
  };

  // NotFound: there is no such file. InvalidFile: it is damaged. Unsupported: another version. Call it once; after a failure the object
  // cannot be used.
  Status open(const std::string& path, const Log& log);
  // Reads from memory that the caller keeps alive. `name` stands for the file in messages.
  Status parse(std::span<const std::byte> bytes, std::string_view name, const Log& log);

  const std::string& name() const { return name_; }            // the file, for messages
  std::string_view network() const { return network_; }        // "WhisperSpec"
  uint32_t revision() const { return revision_; }              // revision of the network's format
  std::span<const Entry> entries() const { return entries_; }  // sorted by name
  // The tensor of this name or alias; null if absent.
  const Entry* find(std::string_view name) const;
  void release(std::span<const std::byte> data) const { file_.release(data); }  // see MappedFile

 private:
  friend class CTranslate2Parser;
  struct Alias {
    std::string_view name, of;
  };

  MappedFile file_;  // empty if the bytes are the caller's
  std::string name_;
  std::string_view network_;
  uint32_t revision_ = 0;
  std::vector<Entry> entries_;
  std::vector<Alias> aliases_;  // sorted by name
};

}  // namespace heed
