// Helpers for tests of tokenizers, checkpoints and encoders: their data, logs, and temporary folders.
#pragma once

#include <filesystem>

#include "harness/devices.hpp"
#include "harness/files.hpp"
#include "harness/setup.hpp"
#include "harness/source_path.hpp"

namespace heed::test {

inline std::filesystem::path data_folder() { return source_path("tests/search/data"); }

inline std::string tiny_folder() { return (data_folder() / "tiny").string(); }

inline TextEncoder opened(Device device, const std::string& folder, const TextEncoderOptions& options = {}) {
  TextEncoder encoder;
  REQUIRE(TextEncoder::open(device, folder, options, &encoder) == Status::Ok);
  return encoder;
}

// The same on a device that may lack f16. Then there is a WARN, and the encoder is not valid.
inline TextEncoder opened_on(const ops::TestDevice& on, const std::string& folder, const TextEncoderOptions& options) {
  TextEncoder encoder;
  Device device = on.device;
  const Status status = TextEncoder::open(device, folder, options, &encoder);
  if (status == Status::Unsupported && options.dtype == DType::F16) {
    ops::take_messages();
    WARN("SKIPPED: " << on.word << " has no f16");
    return {};
  }
  INFO(ops::take_checked_messages());
  REQUIRE(status == Status::Ok);
  return encoder;
}

// `text` with the one occurrence of `from` replaced.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// A copy of the tiny model.
struct ModelCopy : ScratchFolder {
  ModelCopy() { std::filesystem::copy(data_folder() / "tiny", path()); }
  void change(std::string_view name, std::string_view from, std::string_view to) {
    write(name, replaced(read_file(*this / name), from, to));
  }
};

template <class T>
std::vector<T> values_of(const SafeTensors& file, std::string_view name,
                         Status (*read)(const SafeTensors::Entry&, const Log&, std::vector<T>*)) {
  std::vector<T> values;
  const SafeTensors::Entry* entry = file.find(name);
  INFO(name);
  REQUIRE(entry != nullptr);
  REQUIRE(read(*entry, stderr_log(), &values) == Status::Ok);
  return values;
}
inline auto floats_of(const SafeTensors& file, std::string_view name) { return values_of(file, name, read_f32); }
inline auto ints_of(const SafeTensors& file, std::string_view name) { return values_of(file, name, read_i32); }

}  // namespace heed::test
