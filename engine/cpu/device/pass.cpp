#include "cpu/device/pass.hpp"

namespace heed::cpu {

const Operation& operation(Op op) {
  static constexpr Operation kOperations[] = {
#define HEED_OPERATION(enumerator, name) {run_##name, name##_scratch},
#define HEED_GPU_OPERATION(enumerator, name)
#include "graph/operations.inc"
#undef HEED_OPERATION
  };
  return kOperations[static_cast<size_t>(op)];
}

}  // namespace heed::cpu
