#include "cpu/device/pass.hpp"

namespace heed::cpu {

const Operation& operation(Op op) {
  static constexpr auto kOperations = [] {
    std::array<Operation, std::size(sheet::kOperations)> all{};
#define HEED_OPERATION(enumerator, name, ...)      \
  if constexpr (!info_of(Op::enumerator).gpu_only) \
    all[static_cast<size_t>(Op::enumerator)] = {run_##name, name##_scratch};
#include "graph/operations.inc"
#undef HEED_OPERATION
    return all;
  }();
  return kOperations[static_cast<size_t>(op)];
}

}  // namespace heed::cpu
