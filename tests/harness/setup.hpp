// Common setup steps of tests, one call each. A failed call fails the test.
#pragma once

#include <heed/heed.hpp>

#include "harness/catch.hpp"

namespace heed::test {

// Stores log messages, one a line.
struct Messages {
  std::string text;
  Log log(LogLevel minimum = LogLevel::Warning);  // writes into *this, which must not move
  bool mention(std::string_view part) const { return text.find(part) != std::string::npos; }
  int64_t count() const { return std::count(text.begin(), text.end(), '\n'); }
  std::string take() { return std::exchange(text, {}); }
  // Checks the status of a call, and that the log now has this text.
  void refused(Status got, Status want, std::string_view said) {
    CHECK(got == want);
    CHECK_THAT(take(), holds(said));
  }
};

Device open_device(const DeviceOptions& options);
Device open_cpu(DeviceOptions options = {});
Weights uploaded(Device device, std::span<const HostTensor> tensors, const UploadOptions& options = {});
Plan compiled(Device device, const Graph& graph, const Weights& weights = {}, const CompileOptions& options = {});
State state_of(Plan plan);
// Opens an object by T::open with these arguments.
template <class T, class... All>
T opened(const All&... all) {
  T made;
  REQUIRE(T::open(all..., &made) == Status::Ok);
  return made;
}

// Values in [-1, 1), the same on every machine.
std::vector<float> pattern(size_t count, uint32_t seed);

// Named F32 tensors with their memory.
struct Tensors {
  std::map<std::string, std::vector<float>> values;
  std::map<std::string, std::vector<int64_t>> shapes;
  void add(const std::string& name, std::vector<int64_t> shape, uint32_t seed);
  void add(const std::string& name, std::vector<int64_t> shape, std::vector<float> data);
  void add_weights_of(const Graph& graph);  // patterns, with seeds from 1 on
  std::vector<HostTensor> list() const;     // valid while *this is
};

// |a - b| <= 2e-5 + 1e-4 |b| for every element. Returns the first wrong element as text, or an empty string.
std::string difference(const float* got, const std::vector<float>& want);

}  // namespace heed::test
