// layernorm and rmsnorm differ in their kernels only.
#pragma once

#include "kernels/operations.hpp"

namespace heed::kernels {

Status select_norm(const Select& select, KernelId f32, KernelId f16);
void emit_norm(const Emit& emit);

}  // namespace heed::kernels
