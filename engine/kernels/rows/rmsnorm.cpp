#include "kernels/rows/norm.hpp"

namespace heed::kernels {

Status select_rmsnorm(const Select& select) {
  return select_norm(select,
                     {{KernelId::RmsnormF32, KernelId::RmsnormF16, KernelId::RmsnormBf16},
                      {KernelId::RmsnormF32Subgroup, KernelId::RmsnormF16Subgroup, KernelId::RmsnormBf16Subgroup}});
}

void emit_rmsnorm(const Emit& emit) { emit_norm(emit); }

}  // namespace heed::kernels
