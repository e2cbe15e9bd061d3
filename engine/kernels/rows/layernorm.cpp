#include "kernels/rows/norm.hpp"

namespace heed::kernels {

Status select_layernorm(const Select& select) {
  return select_norm(select, {KernelId::LayernormF32, KernelId::LayernormF16, KernelId::LayernormBf16}, false);
}

void emit_layernorm(const Emit& emit) { emit_norm(emit); }

}  // namespace heed::kernels
