// The base class of parsers of binary files. They take numbers and bytes one after the other, and their messages begin with the file's name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/status.hpp>

#include "base/logging.hpp"
#include "io/gguf_numbers.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

class FileParser {
 protected:
  // All must outlive the parser. `file` is the file's name.
  FileParser(std::span<const std::byte> bytes, const std::string& file, const Log& log)
      : bytes_(bytes), file_name_(file), log_(log) {}

  static unsigned long long wide(uint64_t number) { return number; }  // for %llu
  uint64_t left() const { return bytes_.size() - at_; }

  Status invalid(const std::string& what, Status status = Status::InvalidFile) const {
    return fail(log_, status, file_name_ + ": " + what);
  }
  Status in_tensor(std::string_view name, const std::string& what, Status status = Status::InvalidFile) const {
    return invalid(format("tensor '%s': %s", printable(name).c_str(), what.c_str()), status);
  }

  // Little-endian. False: the file ends before.
  template <class T>
  bool take(T* number) {
    if (left() < sizeof(T)) return false;
    *number = load_number<T>(&bytes_[at_]);
    at_ += sizeof(T);
    return true;
  }
  template <class First, class... Others>
    requires(sizeof...(Others) > 0)
  bool take(First* first, Others*... others) {
    return take(first) && take(others...);
  }
  // At most left() bytes.
  std::span<const std::byte> take_bytes(uint64_t count) {
    const std::span<const std::byte> taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }
  std::string_view take_text(uint64_t count) {
    const std::span<const std::byte> bytes = take_bytes(count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // Sorts by name. Returns one whose name occurs twice; null: none.
  template <class Named>
  static const Named* sort_and_find_twice(std::vector<Named>* list) {
    const auto name_of = [](const Named& one) { return one.name; };
    std::ranges::sort(*list, {}, name_of);
    const auto found = std::ranges::adjacent_find(*list, {}, name_of);
    return found == list->end() ? nullptr : &*found;
  }

  std::span<const std::byte> bytes_;
  const std::string& file_name_;
  const Log& log_;
  size_t at_ = 0;
};

}  // namespace heed
