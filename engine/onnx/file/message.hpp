// Messages of protobuf, as they lie in a file. For files that are compiled with exceptions: protozero throws, and so does what reads
// with it, up to read_model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <protozero/pbf_reader.hpp>

#include <heed/status.hpp>

namespace heed::onnx::file {

// Thrown where a file is wrong.
struct Problem {
  std::string text;
  Status status = Status::InvalidFile;
};
[[noreturn]] void stop(std::string text, Status status = Status::InvalidFile);

// Reads what has a name: `place` gives the text that a problem inside gets in front.
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

  // `file`: where the file begins, for messages.
  Message(std::string_view bytes, const char* file) : reader_(bytes.data(), bytes.size()), file_(file) {}

  bool next();  // false at the end. What a field holds must be read or skipped before the next one
  uint32_t field() const { return reader_.tag(); }
  void skip();

  int64_t integer();         // of any type that is a varint
  float number();            // of type float
  std::string_view bytes();  // of a string, bytes or a message
  std::string_view name();   // of a string that is a name
  Message message() { return {bytes(), file_}; }
  // The numbers of a repeated field as they are written, all of them if they are packed, else the next one.
  std::string_view numbers(Wire one);

  // The first field of this number, if it holds bytes: what a message is called, while nothing else is known of it. Stops at
  // nothing.
  std::string_view peek(uint32_t field) const;

 private:
  template <class Call>
  auto guarded(const Call& call);
  void expect(Wire wire) const;
  size_t at() const { return static_cast<size_t>(reader_.data().data() - file_); }

  protozero::pbf_reader reader_;
  const char* file_;
};

// How many varints there are. Stops where the last one has no end.
size_t count_varints(std::string_view numbers);

// Calls each(uint64_t) for every varint of what count_varints has counted.
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
