#include "train/walk.hpp"

#include <algorithm>

namespace heed::train {

namespace {

// Whether a view shows all elements of its memory once: its strides, from the innermost out, are products of its dims.
bool shows_all(Walk& walk, const TensorInfo& ordered, const TensorInfo& owner) {
  SizeTable& sizes = walk.data().sizes;
  if (!sizes.is_constant(ordered.offset, 0)) return false;
  SizeId expected = sizes.constant(1);
  for (int i = ordered.rank; i-- > 0;) {
    const auto at = static_cast<size_t>(i);
    if (sizes.is_constant(ordered.dims[at], 1)) continue;
    if (ordered.strides[at] != expected) return false;
    expected = sizes.mul(expected, ordered.dims[at]);
  }
  return expected == walk.build().elements(owner);
}

bool same_view(Walk& walk, const TensorInfo& a, const TensorInfo& b) {
  return walk.build().same_shape(a, b) && a.offset == b.offset &&
         std::equal(a.strides.begin(), a.strides.begin() + a.rank, b.strides.begin());
}

std::span<const SizeId> dims_of(const TensorInfo& info) { return {info.dims.data(), static_cast<size_t>(info.rank)}; }

// x, whose axes are those that in_memory_order named, permuted back to the dims of `owner`.
Tensor as_owner_axes(Walk& walk, Tensor x, const TensorInfo& owner, const std::vector<int>& axes) {
  TensorInfo view = walk.info(x);
  const TensorInfo ordered = view;
  SizeTable& sizes = walk.data().sizes;
  view.name.clear();
  view.rank = owner.rank;
  for (int i = 0; i < owner.rank; ++i) {
    view.dims[static_cast<size_t>(i)] = sizes.constant(1);
    view.strides[static_cast<size_t>(i)] = sizes.constant(1);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    view.dims[static_cast<size_t>(axes[i])] = ordered.dims[i];
    view.strides[static_cast<size_t>(axes[i])] = ordered.strides[i];
  }
  if (walk.build().is_contiguous(view)) walk.build().make_contiguous(&view), view.offset = ordered.offset;
  return walk.build().add_view(view, view.storage);
}

}  // namespace

bool Walk::wants(Tensor input) const { return input.valid() && wanted_.count(key_of(input)) != 0; }

void Walk::ask(Tensor of) { wanted_.insert(key_of(of)); }

void Walk::spread(std::span<const Node> nodes) {
  for (const Node& node : nodes) {
    if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](Tensor t) { return wants(t); })) continue;
    for (const Tensor output : node.outputs)
      if (output.valid() && is_float(info(output).dtype) && !build_.is_state(info(output).storage)) ask(output);
  }
}

void Walk::add(Tensor input, Tensor gradient) {
  if (!gradient.valid() || !wants(input) || build_.failed()) return;
  const TensorInfo target = info(input);
  gradient = summed_to(*this, gradient, target);
  if (gradient.valid() && info(gradient).dtype != target.dtype) gradient = g_.cast(gradient, target.dtype);
  if (gradient.valid()) flows_[key_of(input)].push_back({input, gradient});
}

void Walk::refuse(const Node& node, const char* why) {
  if (!build_.failed()) build_.fail(Status::Unsupported, format("%s %s", to_string(node.op), why));
}

// The gradient of what a view shows, as that of its memory.
Tensor Walk::as_owner(const Part& part, Tensor owner) {
  const TensorInfo view = info(part.view), whole = info(owner);
  if (same_view(*this, view, whole)) return part.gradient;
  std::vector<int> view_axes, whole_axes;
  const TensorInfo ordered = in_memory_order(*this, view, &view_axes);
  const TensorInfo memory = in_memory_order(*this, whole, &whole_axes);
  TensorInfo gradient = info(part.gradient);
  const TensorInfo given = gradient;
  gradient.name.clear();
  gradient.rank = ordered.rank;
  for (size_t i = 0; i < view_axes.size(); ++i) {
    gradient.dims[i] = given.dims[static_cast<size_t>(view_axes[i])];
    gradient.strides[i] = given.strides[static_cast<size_t>(view_axes[i])];
  }
  const Tensor turned = build_.add_view(gradient, gradient.storage);
  const Tensor in_memory = shows_all(*this, ordered, whole) ? reshaped(*this, turned, dims_of(memory))
                                                            : detail::slice_backward(data_, turned, ordered, memory);
  return in_memory.valid() ? as_owner_axes(*this, in_memory, whole, whole_axes) : Tensor{};
}

Tensor Walk::gathered(Tensor t) {
  const auto found = flows_.find(key_of(t));
  if (found == flows_.end()) return {};
  const Tensor owner{info(t).storage};
  Tensor sum;
  for (const Part& part : found->second) {
    const Tensor one = as_owner(part, owner);
    if (!one.valid()) return {};
    sum = sum.valid() ? g_.add(sum, one) : one;
  }
  found->second.assign(1, {owner, sum});  // who asks again gets the same
  return sum;
}

Tensor Walk::upstream(Tensor output) { return output.valid() ? gathered(output) : Tensor{}; }

Tensor Walk::result(Tensor of) {
  const TensorInfo view = info(of);
  const Tensor whole = gathered(of);
  if (build_.failed()) return {};
  if (!whole.valid()) return filled(*this, view, view.dtype, 0.0f);
  const TensorInfo owner = info(Tensor{view.storage});
  if (same_view(*this, view, owner)) return whole;
  // The same view of the gradient, in memory of the same order.
  std::vector<int> axes;
  static_cast<void>(in_memory_order(*this, owner, &axes));
  TensorInfo turned = info(whole);
  const TensorInfo given = turned;
  turned.name.clear();
  turned.rank = static_cast<int>(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    turned.dims[i] = given.dims[static_cast<size_t>(axes[i])];
    turned.strides[i] = given.strides[static_cast<size_t>(axes[i])];
  }
  const Tensor dense = build_.contiguous(build_.add_view(turned, turned.storage));
  TensorInfo shown = view;
  shown.name.clear();
  shown.offset = data_.sizes.add(view.offset, info(dense).offset);
  shown.storage = info(dense).storage;
  shown.writes = 0;
  return build_.add_view(shown, shown.storage);
}

}  // namespace heed::train
