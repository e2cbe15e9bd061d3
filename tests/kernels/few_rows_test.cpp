// How many invocations share a sum over k, and how many columns a workgroup of a projection has.
#include "kernels/matmul/few_rows.hpp"
#include "kernels/lowered.hpp"

namespace heed::kernel_tests {

TEST_CASE("few rows: small subgroups work alone, and others by four, up to 128 invocations") {
  const std::pair<uint32_t, uint32_t> rows[] = {{1, 8}, {4, 8}, {8, 8}, {16, 64}, {32, 128}, {64, 128}, {128, 128}};
  for (const auto& [subgroup, invocations] : rows) {
    INFO("subgroups of " << subgroup);
    Capabilities device;
    device.subgroup_size = subgroup;
    CHECK(kernels::invocations_along_k(device) == invocations);
    CHECK(kernels::has_small_subgroups(device) == (invocations == 8));
  }
}

}  // namespace heed::kernel_tests
