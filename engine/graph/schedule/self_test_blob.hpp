// Results of a self-test as a host stores them between starts: names of kernels and their verdicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <heed/self_test.hpp>
#include <span>
#include <string>
#include <vector>

namespace heed {

inline bool is_bad(SelfTestVerdict verdict) {
  return verdict != SelfTestVerdict::Passed && verdict != SelfTestVerdict::Unused;
}

std::vector<std::byte> write_self_test(uint64_t key, std::span<const KernelTest> kernels);

// Returns "", or the reason why the blob cannot be used on a device with this key. `failed` receives the kernels that must not be used.
std::string read_self_test(std::span<const std::byte> blob, uint64_t key, std::vector<std::string>* failed);

}  // namespace heed
