// Which kernels are to blame when a pass of several was wrong.
#pragma once

#include <string>
#include <vector>

namespace heed {

// Those to take out of use first, among kernels that made a result together; if it is still wrong without them, the
// others are asked again. A second pass, "attention_combine_f16", is suspected before the first, which earlier probes have
// seen without it; a variant, "matmul_f16_matrix", before what it is a variant of, "matmul_f16".
std::vector<std::string> suspects_among(const std::vector<std::string>& kernels);

}  // namespace heed
