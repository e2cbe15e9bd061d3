// Values for the oracle's tests.
#pragma once

#include <bit>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/catch.hpp"
#include "harness/devices.hpp"
#include "reproducible/oracle.hpp"

namespace heed::reproducible {

using Results = std::vector<std::pair<std::string, Floats>>;
inline constexpr std::pair<const char*, Activation> kActivations[] = {{"relu", Activation::Relu},
                                                                      {"gelu_erf", Activation::GeluErf},
                                                                      {"gelu_tanh", Activation::GeluTanh},
                                                                      {"silu", Activation::Silu},
                                                                      {"tanh", Activation::Tanh}};

// Values from 2^-4 to 2; or, if `wild`, from 2^-20 to 2^20, mixed with small ones, zeros and numbers near the smallest normal one.
inline Floats values(int64_t count, uint32_t state, bool wild) {
  Floats result;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const uint32_t random = state >> 8;
    const uint32_t exponent = wild ? 107u + random % 40u : 123u + random % 5u;
    uint32_t bits = (state & 0x807fffffu) | exponent << 23;
    if (wild && random % 11u == 0) bits = (state & 0x80000000u) | (0x00800000u + random / 11u % 5u - 2u);
    if (wild && random % 13u == 0) bits = (state & 0x807fffffu) | (40u + random / 13u % 60u) << 23;
    result.push_back(std::bit_cast<float>(bits));
  }
  return result;
}

inline std::vector<uint32_t> bits_of(std::span<const float> values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

inline void check_bits_of(const Results& got, const Results& want, const char* what) {
  for (size_t i = 0; i < want.size(); ++i) {
    INFO(want[i].first << what);
    CHECK(bits_of(got[i].second) == bits_of(want[i].second));
  }
}

// The names of results that differ.
inline std::string differing(const Results& a, const Results& b) {
  std::string names;
  for (size_t i = 0; i < a.size(); ++i)
    if (bits_of(a[i].second) != bits_of(b[i].second)) names += " " + a[i].first;
  return names;
}

// Calls run(plan) for each device that supports reproducible plans.
template <class Run>
void on_devices(const Graph& g, const Run& run) {
  for (const ops::TestDevice& on : ops::test_devices()) {
    INFO(on.word);
    Device device = on.device;
    Plan plan;
    const Status status = device.compile(g, {}, &plan, {.reproducible = true});
    INFO(ops::take_checked_messages());
    if (status == Status::Unsupported && device.info().kind != DeviceKind::Cpu) continue;
    REQUIRE(status == Status::Ok);
    run(plan);
  }
}

}  // namespace heed::reproducible
