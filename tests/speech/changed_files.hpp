// Damaged files of a format, and what the reader must say about each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/setup.hpp"

namespace heed::test {

struct BadFile {
  const char* what;
  std::string bytes;
  std::vector<const char*> words;  // texts that the message must contain
  Status status = Status::InvalidFile;
};

// Exactly these bytes, so that a sanitizer sees a read behind them.
inline std::vector<std::byte> exact(std::string_view text) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// File: CTranslate2 or GgmlWhisper.
template <class File>
void check_refused(const std::vector<BadFile>& files) {
  for (const BadFile& bad : files) {
    INFO(bad.what);
    Messages messages;
    File file;
    CHECK(file.parse(exact(bad.bytes), "memory", messages.log()) == bad.status);
    CHECK(messages.count() == 1);
    for (const char* word : bad.words) CHECK_THAT(messages.text, holds(word));
  }
}

// A text of a file that is replaced.
struct Change {
  const char *file, *from, *to;
  Status status;
  const char* said;
};

}  // namespace heed::test
