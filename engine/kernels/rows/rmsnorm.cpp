#include "kernels/rows/norm.hpp"

namespace heed::kernels {

Status select_rmsnorm(const Select& select) {
  return select_norm(select, {KernelId::RmsnormF32, KernelId::RmsnormF16, KernelId::RmsnormBf16}, true);
}

void emit_rmsnorm(const Emit& emit) { emit_norm(emit); }

}  // namespace heed::kernels
