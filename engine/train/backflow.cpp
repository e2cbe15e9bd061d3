#include "train/backflow.hpp"

#include <algorithm>

namespace heed::train {

namespace {

// Whether a view shows all elements of its storage once: its strides, from the innermost out, are products of its dims.
bool shows_all(Backflow& flow, const TensorInfo& ordered, const TensorInfo& owner) {
  SizeTable& sizes = flow.data().sizes;
  if (!sizes.is_constant(ordered.offset, 0)) return false;
  SizeId expected = sizes.constant(1);
  for (int i = ordered.rank; i-- > 0;) {
    const auto at = static_cast<size_t>(i);
    if (sizes.is_constant(ordered.dims[at], 1)) continue;
    if (ordered.strides[at] != expected) return false;
    expected = sizes.mul(expected, ordered.dims[at]);
  }
  return expected == flow.build().elements(owner);
}

bool same_view(Backflow& flow, const TensorInfo& a, const TensorInfo& b) {
  return flow.build().same_shape(a, b) && a.offset == b.offset &&
         std::equal(a.strides.begin(), a.strides.begin() + a.rank, b.strides.begin());
}

std::span<const SizeId> dims_of(const TensorInfo& info) { return {info.dims.data(), static_cast<size_t>(info.rank)}; }

// A view with these axes of x in this order, and axes of size 1 elsewhere.
Tensor permuted(Backflow& flow, Tensor x, const std::vector<int>& axes) {
  const TensorInfo from = flow.info(x);
  TensorInfo view = from;
  view.name.clear();
  view.rank = static_cast<int>(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    view.dims[i] = from.dims[static_cast<size_t>(axes[i])];
    view.strides[i] = from.strides[static_cast<size_t>(axes[i])];
  }
  return flow.build().add_view(view, view.storage);
}

// x, whose axes are those that in_memory_order returned, permuted back to the dims of `owner`.
Tensor as_owner_axes(Backflow& flow, Tensor x, const TensorInfo& owner, const std::vector<int>& axes) {
  TensorInfo view = flow.info(x);
  const TensorInfo ordered = view;
  SizeTable& sizes = flow.data().sizes;
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
  if (flow.build().is_contiguous(view)) flow.build().make_contiguous(&view), view.offset = ordered.offset;
  return flow.build().add_view(view, view.storage);
}

// The axis along which a tensor was cut into these slices, given in order; -1: they are not slices of one tensor.
int cut_axis(Backflow& flow, const std::vector<TensorInfo>& views) {
  const TensorInfo& first = views[0];
  int axis = -1;
  for (const TensorInfo& view : views) {
    if (view.rank != first.rank ||
        !std::equal(view.strides.begin(), view.strides.begin() + view.rank, first.strides.begin()))
      return -1;
    for (int i = 0; i < view.rank && axis < 0; ++i)
      if (view.dims[static_cast<size_t>(i)] != first.dims[static_cast<size_t>(i)]) axis = i;
  }
  // Slices of equal size differ in their offsets only.
  for (int i = 0; i < first.rank && axis < 0; ++i) {
    const auto at = static_cast<size_t>(i);
    if (flow.data().sizes.mul(first.dims[at], first.strides[at]) == views[1].offset) axis = i;
  }
  return axis;
}

// Whether each slice begins where the one before it ends. *all is then a view of all of them.
bool follow_each_other(Backflow& flow, const std::vector<TensorInfo>& views, int axis, TensorInfo* all) {
  SizeTable& sizes = flow.data().sizes;
  const auto at = static_cast<size_t>(axis);
  *all = views[0];
  SizeId size = sizes.constant(0), end = sizes.constant(0);
  for (TensorInfo view : views) {
    const SizeId part = view.dims[at], begin = view.offset;
    view.dims[at] = views[0].dims[at];
    if (!flow.build().same_shape(view, views[0]) || begin != end) return false;
    size = sizes.add(size, part);
    end = sizes.mul(size, views[0].strides[at]);
  }
  all->dims[at] = size;
  return true;
}

}  // namespace

bool Backflow::wants(Tensor input) const { return input.valid() && wanted_.count(key_of(input)) != 0; }

void Backflow::ask(Tensor of) { wanted_.insert(key_of(of)); }

void Backflow::spread(std::span<const Node> nodes) {
  for (const Node& node : nodes) {
    if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](Tensor t) { return wants(t); })) continue;
    for (const Tensor output : node.outputs)
      if (output.valid() && is_float(info(output).dtype) && !build_.is_state(info(output).storage)) ask(output);
  }
}

// The view without repetitions by expand: axes of stride 0 become size 1.
Tensor Backflow::unexpanded(Tensor view) {
  TensorInfo once = info(view);
  bool is_expanded = false;
  for (size_t i = 0; i < static_cast<size_t>(once.rank); ++i) {
    if (!data().sizes.is_constant(once.strides[i], 0) || data().sizes.is_constant(once.dims[i], 1)) continue;
    once.dims[i] = data().sizes.constant(1);
    is_expanded = true;
  }
  once.name.clear();
  return is_expanded ? build_.add_view(once, once.storage) : view;
}

void Backflow::add(Tensor input, Tensor gradient) {
  if (!gradient.valid() || !wants(input) || build_.failed()) return;
  input = unexpanded(input);
  const TensorInfo target = info(input);
  gradient = summed_to(*this, gradient, target);
  if (gradient.valid() && info(gradient).dtype != target.dtype) gradient = g_.cast(gradient, target.dtype);
  if (gradient.valid()) add_part({input, gradient});
}

void Backflow::add_part(const Part& part) {
  const TensorInfo view = info(part.view);
  const detail::Overlap overlap = detail::overlap_of(build_, view);
  if (overlap.outer < 0) {
    flows_[key_of(part.view)].push_back(part);
    return;
  }
  // One axis is split: the inner one into pieces as long as the outer one's step, or the outer one into its elements.
  SizeTable& sizes = data_.sizes;
  const auto outer = static_cast<size_t>(overlap.outer), inner = static_cast<size_t>(overlap.inner);
  const std::optional<SizeId> step = sizes.quotient(view.strides[outer], view.strides[inner]);
  const bool cuts_inner = sizes.is_constant(view.dims[inner]) && step && sizes.is_constant(*step);
  const bool cuts_outer = sizes.is_constant(view.dims[outer]);
  const auto pieces = [](int64_t size, int64_t each) { return (size + each - 1) / each; };
  const int64_t inner_size = build_.max_of(view.dims[inner]), outer_size = build_.max_of(view.dims[outer]);
  const int64_t each = cuts_inner ? build_.max_of(*step) : 1;
  if (!cuts_inner && !cuts_outer) {
    build_.fail(Status::Unsupported,
                format("%s shows elements several times; a gradient needs windows of constant size",
                       build_.text(part.view).c_str()));
    return;
  }
  const bool is_inner = cuts_inner && (!cuts_outer || pieces(inner_size, each) <= outer_size);
  const int axis = is_inner ? overlap.inner : overlap.outer;
  const int64_t size = is_inner ? inner_size : outer_size, length = is_inner ? each : 1;
  for (int64_t at = 0; at < size; at += length) {
    const SizeId begin = sizes.constant(at), count = sizes.constant(std::min(length, size - at));
    add_part({build_.add_range(part.view, axis, begin, count), build_.add_range(part.gradient, axis, begin, count)});
  }
}

void Backflow::refuse(const Node& node, const char* why) {
  if (!build_.failed()) build_.fail(Status::Unsupported, format("%s %s", to_string(node.op), why));
}

// The gradient of a view as a gradient of the whole storage.
Tensor Backflow::as_owner(const Part& part, Tensor owner) {
  const TensorInfo view = info(part.view), whole = info(owner);
  if (same_view(*this, view, whole)) return part.gradient;
  std::vector<int> view_axes, whole_axes;
  const TensorInfo ordered = in_memory_order(*this, view, &view_axes);
  const TensorInfo memory = in_memory_order(*this, whole, &whole_axes);
  const Tensor turned = permuted(*this, part.gradient, view_axes);
  const Tensor in_memory = shows_all(*this, ordered, whole) ? reshaped(*this, turned, dims_of(memory))
                                                            : detail::slice_backward(data_, turned, ordered, memory);
  return in_memory.valid() ? as_owner_axes(*this, in_memory, whole, whole_axes) : Tensor{};
}

std::vector<Backflow::Part> Backflow::by_view(const std::vector<Part>& parts) {
  std::vector<Part> views;
  for (const Part& part : parts) {
    const auto same = std::find_if(views.begin(), views.end(), [&](const Part& known) {
      return same_view(*this, info(known.view), info(part.view));
    });
    if (same == views.end())
      views.push_back(part);
    else
      same->gradient = g_.add(same->gradient, part.gradient);
  }
  return views;
}

// Joins gradients of parts, such as queries, keys and values split off one matmul, by one concat instead of scattering each into zeros and
// adding.
Tensor Backflow::joined(std::vector<Part> parts, Tensor owner) {
  if (parts.size() < 2) return {};
  std::sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) {
    return build_.max_of(info(a.view).offset) < build_.max_of(info(b.view).offset);
  });
  const TensorInfo whole = info(owner);
  std::vector<int> axes, whole_axes;
  const TensorInfo memory = in_memory_order(*this, whole, &whole_axes);
  std::vector<TensorInfo> views;
  std::vector<Tensor> slices;
  for (const Part& part : parts) {
    views.push_back(in_memory_order(*this, info(part.view), &axes));
    slices.push_back(permuted(*this, part.gradient, axes));
  }
  const int axis = cut_axis(*this, views);
  TensorInfo all;
  if (axis < 0 || !follow_each_other(*this, views, axis, &all) || !shows_all(*this, all, whole)) return {};
  const Tensor side_by_side = reshaped(*this, g_.concat(slices, axis), dims_of(memory));
  return side_by_side.valid() ? as_owner_axes(*this, side_by_side, whole, whole_axes) : Tensor{};
}

Tensor Backflow::gathered(Tensor t) {
  const auto found = flows_.find(key_of(t));
  if (found == flows_.end()) return {};
  const Tensor owner{info(t).storage};
  const std::vector<Part> parts = by_view(found->second);
  Tensor sum = joined(parts, owner);
  const bool is_joined = sum.valid();
  for (const Part& part : parts) {
    if (is_joined) break;
    const Tensor one = as_owner(part, owner);
    if (!one.valid()) return {};
    sum = sum.valid() ? g_.add(sum, one) : one;
  }
  found->second.assign(1, {owner, sum});  // later calls return the same sum
  return sum;
}

Tensor Backflow::upstream(Tensor output) { return output.valid() ? gathered(output) : Tensor{}; }

Tensor Backflow::result(Tensor of) {
  const TensorInfo view = info(of);
  const Tensor whole = gathered(of);
  if (build_.failed()) return {};
  if (!whole.valid()) return filled(*this, view, view.dtype, 0.0f);
  const TensorInfo owner = info(Tensor{view.storage});
  if (same_view(*this, view, owner)) return whole;
  // The same view of the gradient, in the same memory order.
  std::vector<int> axes;
  static_cast<void>(in_memory_order(*this, owner, &axes));
  const Tensor dense = build_.contiguous(permuted(*this, whole, axes));
  TensorInfo shown = view;
  shown.name.clear();
  shown.offset = data_.sizes.add(view.offset, info(dense).offset);
  shown.storage = info(dense).storage;
  shown.writes = 0;
  return build_.add_view(shown, shown.storage);
}

}  // namespace heed::train
