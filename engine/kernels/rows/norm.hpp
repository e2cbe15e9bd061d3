// layernorm and rmsnorm differ in their kernels only.
#pragma once

#include "kernels/rows/rows.hpp"

namespace heed::kernels {

Status select_norm(const Select& select, const ByStorage& ids);
void emit_norm(const Emit& emit);

}  // namespace heed::kernels
