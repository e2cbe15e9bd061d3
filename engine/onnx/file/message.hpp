// Protobuf messages in a file. Files that include this are compiled with exceptions: protozero throws, and code that uses it lets
// exceptions pass up to read_model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <protozero/pbf_reader.hpp>

#include <heed/status.hpp>

namespace heed::onnx::file {

// Thrown if a file is invalid.
struct Problem {
  std::string text;
  Status status = Status::InvalidFile;
};
[[noreturn]] void stop(std::string text, Status status = Status::InvalidFile);

// Reads something that has a name: the text of `place` is put before the message of a problem inside.
template <class Place, class Read>
void within(const Place& place, const Read& read) {
  try {
    read();
  } catch (Problem& problem) {
    problem.text = place() + ": " + problem.text;
    throw;
  }
}

class Message {
 public:
  using Wire = protozero::pbf_wire_type;
  static constexpr size_t kMaxNameBytes = 65535;

  // `file` points to the beginning of the file, for offsets in messages.
  Message(std::string_view bytes, const char* file) : reader_(bytes.data(), bytes.size()), file_(file) {}

  bool next();  // false at the end. The value of a field must be read or skipped before the next call
  uint32_t field() const { return reader_.tag(); }
  void skip();

  int64_t integer();         // reads any type that is a varint
  float number();            // reads a float
  std::string_view bytes();  // reads a string, bytes or a message
  std::string_view name();   // reads a string that is a name
  Message message() { return {bytes(), file_}; }
  // The encoded numbers of a repeated field: all of them if they are packed, else one.
  std::string_view numbers(Wire one);

  // The first field of this number, if it holds bytes: used for a message's name before the message is read. Ignores errors.
  std::string_view peek(uint32_t field) const;

 private:
  template <class Call>
  auto guarded(const Call& call);
  void expect(Wire wire) const;
  size_t at() const { return static_cast<size_t>(reader_.data().data() - file_); }

  protozero::pbf_reader reader_;
  const char* file_;
};

// The number of varints. Stops at one without an end.
size_t count_varints(std::string_view numbers);

// Calls each(uint64_t) for every varint that count_varints counted.
template <class Each>
void for_each_varint(std::string_view numbers, const Each& each) {
  const char *at = numbers.data(), *const end = at + numbers.size();
  try {
    while (at != end) each(protozero::decode_varint(&at, end));
  } catch (const protozero::exception&) {
    stop("a number of more than 64 bits");
  }
}

}  // namespace heed::onnx::file
