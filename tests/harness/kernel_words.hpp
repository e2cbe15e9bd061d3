// The SPIR-V of heed's kernels.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/kernel_table.hpp"

namespace heed {

// Each module is unpacked once and keeps its address until the process ends.
inline std::span<const uint32_t> kernel_words(KernelId id) {
  static std::mutex mutex;
  static std::map<const PackedSpirv*, std::vector<uint32_t>> modules;
  const KernelInfo& info = kernel_info(id);
  const std::lock_guard lock(mutex);
  std::vector<uint32_t>& words = modules[info.module];
  if (words.empty() && unpack(*info.module, &words) != Status::Ok)
    throw std::runtime_error(std::string("unpack: ") + info.name);
  return words;
}

}  // namespace heed
