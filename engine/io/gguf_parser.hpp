// Parses and checks a GGUF file from front to back.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <heed/gguf.hpp>

#include "io/file_parser.hpp"

namespace heed {

// Parses the bytes of a file in one pass. Each step returns Ok or logs the reason why not. Counts that exceed the file's size do not lead
// to allocations.
class GgufParser : FileParser {
 public:
  GgufParser(std::span<const std::byte> bytes, const std::string& file, const Log& log)
      : FileParser(bytes, file, log) {}

  Status parse();

  uint32_t version = 0;
  std::vector<Gguf::Field> fields;   // sorted by name
  std::vector<Gguf::Entry> entries;  // sorted by name

 private:
  Status read_start();
  Status read_fields();
  Status read_field(Gguf::Field* field);
  Status read_value(uint32_t type, std::string_view key, Gguf::Value* value);
  Status read_array(std::string_view key, Gguf::Value* value);
  Status read_entries();
  Status read_entry(Gguf::Entry* entry);
  Status place_entries();
  Status read_alignment();
  Status check_names();

  bool take_counted(std::string_view* text, uint64_t* length);
  bool skip(uint64_t count);

  Status in_key(std::string_view key, const std::string& what, Status status = Status::InvalidFile) const;

  uint64_t tensor_count_ = 0, field_count_ = 0;
  uint64_t alignment_ = 32;
  std::vector<uint64_t> offsets_, needed_;  // offsets and sizes of entries, in file order
};

}  // namespace heed
