#include "kernels/canon.hpp"

#include <algorithm>
#include <iterator>

namespace heed::kernels {
namespace {

struct Twin {
  KernelId ordinary, canon;
};
constexpr Twin kTwins[] = {
    {KernelId::MatmulF32, KernelId::MatmulF32Canon},
    {KernelId::MatmulF32Narrow, KernelId::MatmulF32NarrowCanon},
    {KernelId::MatmulF32Quantized, KernelId::MatmulF32QuantizedCanon},
    {KernelId::SoftmaxF32, KernelId::SoftmaxF32Canon},
    {KernelId::LayernormF32, KernelId::LayernormF32Canon},
    {KernelId::RmsnormF32, KernelId::RmsnormF32Canon},
    {KernelId::L2NormalizeF32, KernelId::L2NormalizeF32Canon},
    {KernelId::MeanF32, KernelId::MeanF32Canon},
    {KernelId::DropoutF32, KernelId::DropoutF32Canon},
    {KernelId::EmbeddingF32, KernelId::EmbeddingF32Canon},
    {KernelId::EmbeddingF32Narrow, KernelId::EmbeddingF32NarrowCanon},
    {KernelId::EmbeddingF32Quantized, KernelId::EmbeddingF32QuantizedCanon},
    {KernelId::RotaryF32, KernelId::RotaryF32Canon},
    {KernelId::ArgmaxF32, KernelId::ArgmaxF32Canon},
    {KernelId::SampleF32, KernelId::SampleF32Canon},
    {KernelId::ElementwiseF32, KernelId::ElementwiseF32Canon},
    {KernelId::ElementwiseF32Narrow, KernelId::ElementwiseF32NarrowCanon},
    {KernelId::ElementwiseF32F16, KernelId::ElementwiseF32F16Canon},
    {KernelId::ElementwiseF32Bf16, KernelId::ElementwiseF32Bf16Canon},
    {KernelId::CrossEntropyF32, KernelId::CrossEntropyF32Canon},
    {KernelId::CrossEntropyBackwardF32, KernelId::CrossEntropyBackwardF32Canon},
    {KernelId::SoftmaxBackwardF32, KernelId::SoftmaxBackwardF32Canon},
    {KernelId::NormBackwardF32, KernelId::NormBackwardF32Canon},
    {KernelId::NormBackwardSumsF32, KernelId::NormBackwardSumsF32Canon},
    {KernelId::EmbeddingBackwardF32, KernelId::EmbeddingBackwardF32Canon},
    {KernelId::GradientNorm, KernelId::GradientNormCanon},
    {KernelId::GradientNormCombine, KernelId::GradientNormCombineCanon},
    {KernelId::UpdateF32, KernelId::UpdateF32Canon},
    // These compute nothing.
    {KernelId::SliceBackwardF32, KernelId::SliceBackwardI32},
    {KernelId::PlaceF32, KernelId::PlaceI32},
    {KernelId::PlaceF16, KernelId::PlaceU16},
    {KernelId::PlaceBf16, KernelId::PlaceU16},
    {KernelId::PlaceI32, KernelId::PlaceI32},
    {KernelId::PlaceU8, KernelId::PlaceU8},
    {KernelId::CopyI32, KernelId::CopyI32},
    {KernelId::CopyU16, KernelId::CopyU16},
    {KernelId::CopyU8, KernelId::CopyU8},
};

}  // namespace

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
    const auto* twin =
        std::find_if(std::begin(kTwins), std::end(kTwins), [&](const Twin& one) { return one.ordinary == use.key.id; });
    if (twin == std::end(kTwins) || use.key.custom != nullptr)
      return select.unsupported(format("reproducible plans have no kernel for %s", kernel_name(use.key)));
    use.key.id = twin->canon;
  }
  return Status::Ok;
}

}  // namespace heed::kernels
