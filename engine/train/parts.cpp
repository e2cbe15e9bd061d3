#include <algorithm>
#include <array>

#include "train/backflow.hpp"

namespace heed::train {

Dim dim_of(Backflow& flow, SizeId size) { return flow.build().dim_of(size); }

Tensor reshaped(Backflow& flow, Tensor x, std::span<const SizeId> dims) {
  if (!x.valid()) return {};
  const TensorInfo& info = flow.info(x);
  if (std::equal(dims.begin(), dims.end(), info.dims.begin(), info.dims.begin() + info.rank)) return x;
  Shape shape;
  for (const SizeId dim : dims) shape.push_back(dim_of(flow, dim));
  return flow.graph().reshape(x, shape);
}

namespace {

// x with axes first .. last merged into one.
Tensor merged(Backflow& flow, Tensor x, int first, int last) {
  const TensorInfo info = flow.info(x);
  std::vector<SizeId> dims;
  SizeId product = flow.data().sizes.constant(1);
  for (int i = 0; i < info.rank; ++i) {
    const SizeId dim = info.dims[static_cast<size_t>(i)];
    if (i < first || i > last)
      dims.push_back(dim);
    else if (product = flow.data().sizes.mul(product, dim); i == last)
      dims.push_back(product);
  }
  return reshaped(flow, x, dims);
}

}  // namespace

Tensor summed_to(Backflow& flow, Tensor x, const TensorInfo& target) {
  if (!x.valid() || flow.build().same_shape(flow.info(x), target)) return x;
  SizeTable& sizes = flow.data().sizes;
  const TensorInfo from = flow.info(x);
  const auto is_summed = [&](int axis) {
    const int of_target = axis - (from.rank - target.rank);
    return !sizes.is_constant(from.dims[static_cast<size_t>(axis)], 1) &&
           (of_target < 0 || sizes.is_constant(target.dims[static_cast<size_t>(of_target)], 1));
  };
  // Adjacent axes are summed as one, from the last group to the first, so that the numbers of earlier axes stay valid.
  for (int last = from.rank - 1; last >= 0 && x.valid(); --last) {
    if (!is_summed(last)) continue;
    int first = last;
    while (first > 0 && is_summed(first - 1)) --first;
    x = merged(flow, x, first, last);
    if (x.valid() && flow.info(x).rank == 1) x = reshaped(flow, x, std::array{flow.info(x).dims[0], sizes.constant(1)});
    if (x.valid()) x = detail::sum(flow.data(), x, first);
    last = first;
  }
  return reshaped(flow, x, {target.dims.data(), static_cast<size_t>(target.rank)});
}

Tensor expanded(Backflow& flow, Tensor x, const TensorInfo& target, float factor) {
  if (!x.valid()) return {};
  Build build(flow.data(), "expand");
  TensorInfo out = target;
  out.dtype = build.info(x).dtype;
  const Tensor result = build.add_like(out, out.dtype);
  build.add_node(Op::Elementwise, {x}, result, program_of({.scale = factor}));
  return result;
}

Tensor filled(Backflow& flow, const TensorInfo& shape, DType dtype, float value) {
  Build& build = flow.build();
  const Tensor one = build.shared_table(value == 0.0f ? "gradients/0" : "gradients/1", {1}, DType::F32, 1,
                                        [&](std::byte* memory) { *reinterpret_cast<float*>(memory) = value; });
  if (!one.valid()) return {};
  const Tensor typed = flow.graph().cast(one, dtype);
  if (!flow.data().sizes.is_constant(build.elements(shape), 1)) return expanded(flow, typed, shape);
  return reshaped(flow, typed, {shape.dims.data(), static_cast<size_t>(shape.rank)});
}

TensorInfo in_memory_order(Backflow& flow, const TensorInfo& x, std::vector<int>* axes) {
  SizeTable& sizes = flow.data().sizes;
  axes->clear();
  for (int i = 0; i < x.rank; ++i)
    if (!sizes.is_constant(x.dims[static_cast<size_t>(i)], 1)) axes->push_back(i);
  if (axes->empty()) axes->push_back(x.rank - 1);
  // The order of strides is the same at every run, so they are compared at the extents' maxima.
  std::stable_sort(axes->begin(), axes->end(), [&](int a, int b) {
    return flow.build().max_of(x.strides[static_cast<size_t>(a)]) >
           flow.build().max_of(x.strides[static_cast<size_t>(b)]);
  });
  TensorInfo ordered = x;
  ordered.name.clear();
  ordered.rank = static_cast<int>(axes->size());
  for (size_t i = 0; i < axes->size(); ++i) {
    ordered.dims[i] = x.dims[static_cast<size_t>((*axes)[i])];
    ordered.strides[i] = x.strides[static_cast<size_t>((*axes)[i])];
  }
  if (sizes.is_constant(ordered.dims[0], 1)) ordered.strides[0] = sizes.constant(1);  // a view may have left it at 0
  return ordered;
}

}  // namespace heed::train
