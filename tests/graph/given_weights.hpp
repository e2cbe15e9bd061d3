// The weights of a graph as a device passes them to a plan, without their bytes.
#pragma once

#include <algorithm>

#include "graph/schedule/backend.hpp"

namespace heed::test {

// Each weight starts at a multiple of 256 bytes.
class GivenWeights final : public detail::WeightsImpl {
 public:
  explicit GivenWeights(const Graph& graph) {
    for (const detail::NamedTensor& named : graph.data().weights) {
      const TensorInfo& info = graph.data().tensors[named.tensor];
      uint64_t elements = 1;
      for (int i = 0; i < info.rank; ++i)
        elements *= static_cast<uint64_t>(graph.data().sizes.evaluate(info.dims[static_cast<size_t>(i)], {}));
      const uint64_t bytes = bytes_of(info.dtype, elements);
      entries.push_back({named.name, info.dtype, {}, bytes_, bytes});
      bytes_ += (bytes + 255) / 256 * 256;
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  }
  uint64_t bytes() const override { return bytes_; }
  const detail::DeviceImpl* device() const override { return nullptr; }

 private:
  uint64_t bytes_ = 0;
};

}  // namespace heed::test
