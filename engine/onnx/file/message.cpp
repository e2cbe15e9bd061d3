#include "onnx/file/message.hpp"

#include <algorithm>

#include "base/logging.hpp"

namespace heed::onnx::file {

namespace {

const char* meaning(const protozero::exception& problem) {
  const std::string_view what = problem.what();
  if (what == protozero::end_of_buffer_exception().what()) return "a field that goes on behind the end of its message";
  if (what == protozero::varint_too_long_exception().what()) return "a number of more than 64 bits";
  return "no field of protobuf";
}

const char* to_string(Message::Wire wire) {
  switch (wire) {
    case Message::Wire::varint: return "a varint";
    case Message::Wire::fixed64: return "64 bits";
    case Message::Wire::length_delimited: return "bytes";
    case Message::Wire::fixed32: return "32 bits";
    default: return "unknown";
  }
}

}  // namespace

void stop(std::string text, Status status) { throw Problem{std::move(text), status}; }

template <class Call>
auto Message::guarded(const Call& call) {
  const size_t begin = at();
  try {
    return call();
  } catch (const protozero::exception& problem) {
    stop(format("at byte %zu: %s", begin, meaning(problem)));
  }
}

void Message::expect(Wire wire) const {
  if (reader_.has_wire_type(wire)) return;
  stop(format("at byte %zu: field %u is %s, and should be %s", at(), field(), to_string(reader_.wire_type()),
              to_string(wire)));
}

bool Message::next() {
  return guarded([&] { return reader_.next(); });
}

void Message::skip() {
  guarded([&] { reader_.skip(); });
}

int64_t Message::integer() {
  expect(Wire::varint);
  return guarded([&] { return reader_.get_int64(); });
}

float Message::number() {
  expect(Wire::fixed32);
  return guarded([&] { return reader_.get_float(); });
}

std::string_view Message::bytes() {
  expect(Wire::length_delimited);
  return guarded([&] {
    const protozero::data_view view = reader_.get_view();
    return std::string_view(view.data(), view.size());
  });
}

std::string_view Message::name() {
  const std::string_view name = bytes();
  if (name.size() > kMaxNameBytes)
    stop(format("at byte %zu: a name of %zu bytes; at most %zu are allowed", at() - name.size(), name.size(),
                kMaxNameBytes));
  return name;
}

std::string_view Message::numbers(Wire one) {
  if (!reader_.has_wire_type(Wire::length_delimited)) {
    expect(one);
    const char* const begin = reader_.data().data();
    skip();
    return {begin, static_cast<size_t>(reader_.data().data() - begin)};
  }
  const std::string_view packed = bytes();
  const size_t width = one == Wire::fixed64 ? 8 : one == Wire::fixed32 ? 4 : 1;
  if (packed.size() % width != 0)
    stop(format("at byte %zu: field %u has %zu bytes, which are no whole numbers of %zu", at() - packed.size(), field(),
                packed.size(), width));
  return packed;
}

std::string_view Message::peek(uint32_t field) const {
  protozero::pbf_reader reader = reader_;
  try {
    while (reader.next()) {
      if (reader.tag() != field || !reader.has_wire_type(Wire::length_delimited)) {
        reader.skip();
        continue;
      }
      const protozero::data_view view = reader.get_view();
      return {view.data(), view.size()};
    }
  } catch (const protozero::exception&) {
  }
  return {};
}

size_t count_varints(std::string_view numbers) {
  const auto ends = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (!numbers.empty() && !ends(numbers.back())) stop("a number that goes on behind the end of its field");
  return static_cast<size_t>(std::count_if(numbers.begin(), numbers.end(), ends));
}

}  // namespace heed::onnx::file
