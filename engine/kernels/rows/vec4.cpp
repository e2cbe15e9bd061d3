#include "kernels/lowering.hpp"

namespace heed::kernels {

bool is_vec4(const View& view, int64_t width) {
  const int last = view.rank - 1;
  if (view.rank < 1 || view.stride[last] != 1 || view.dim[last] % width != 0 || view.offset % width != 0) return false;
  for (int i = 0; i < last; ++i)
    if (view.dim[i] > 1 && view.stride[i] % width != 0) return false;
  return true;
}

Vec4 vec4_of(const Select& select, Tensor tensor, int64_t width) {
  return tensor.valid() ? vec4_of(select, select.schedule.info(tensor), width) : Vec4::Always;
}

Vec4 vec4_of(const Select& select, const TensorInfo& info, int64_t width) {
  const SizeTable& sizes = select.schedule.sizes;
  const auto multiple = [&](SizeId size) {
    if (sizes.is_multiple(size, width)) return Vec4::Always;
    return sizes.is_constant(size) ? Vec4::Never : Vec4::AtSomeRuns;
  };
  const auto last = static_cast<size_t>(info.rank - 1);
  if (info.rank < 1 || !sizes.is_constant(info.strides[last], 1)) return Vec4::Never;
  Vec4 known = worse(multiple(info.dims[last]), multiple(info.offset));
  for (size_t i = 0; i < last; ++i)
    if (!sizes.is_constant(info.dims[i], 1)) known = worse(known, multiple(info.strides[i]));
  const Placement::Space space = select.schedule.placements[info.storage].space;
  const bool hosts = space == Placement::Space::Input || space == Placement::Space::Output;
  return hosts ? worse(known, Vec4::AtSomeRuns) : known;
}

}  // namespace heed::kernels
