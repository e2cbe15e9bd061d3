// layernorm and rmsnorm differ only in a flag of their kernels.
#pragma once

#include "kernels/rows/rows.hpp"

namespace heed::kernels {

Status select_norm(const Select& select, const ByStorage& ids, bool by_root);
void emit_norm(const Emit& emit);

}  // namespace heed::kernels
