#include "kernels/canon.hpp"

namespace heed::kernels {

Capabilities canon_device(const Capabilities& device) {
  Capabilities result = device;
  result.subgroup_arithmetic = result.subgroup_ballot = result.subgroup_shuffle = false;
  result.matrix = result.bfloat_matrix = result.byte_matrix = {};
  result.tuning = nullptr;
  return result;
}

Status take_canon_kernels(const Select& select) {
  for (uint32_t i = 0; i < select.kernels->count; ++i) {
    KernelUse& use = select.kernels->uses[i];
    const KernelId twin = use.key.custom == nullptr ? kernel_info(use.key.id).canon : kNoTwin;
    if (twin == kNoTwin)
      return select.unsupported(format("reproducible plans have no kernel for %s", kernel_name(use.key)));
    use.key.id = twin;
  }
  return Status::Ok;
}

}  // namespace heed::kernels
