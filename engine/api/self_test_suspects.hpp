// Determines which kernels to disable if a pass of several kernels gave a wrong result.
#pragma once

#include <string>
#include <vector>

namespace heed {

// The kernels to disable first, among those that computed a result together. If the result is still wrong without them, the caller asks
// again. The kernel of a second dispatch, "attention_combine_f16", is suspected before that of the first, which earlier probes have tested
// alone; a variant, "matmul_f16_matrix", is suspected before the plain kernel, "matmul_f16".
std::vector<std::string> suspects_among(const std::vector<std::string>& kernels);

}  // namespace heed
