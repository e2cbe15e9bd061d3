#include "graph/rewrite/see_through.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace heed::detail {
namespace {

// Strides of the contiguous tensor `out` and of `in`, which broadcasts to it.
std::array<SharedAxis, kMaxRank> axes_between(const SizeTable& sizes, SizeId zero, const TensorInfo& out,
                                              const TensorInfo& in) {
  std::array<SharedAxis, kMaxRank> axes{};
  for (int i = 0; i < out.rank; ++i) {
    const auto at = static_cast<size_t>(i);
    const int own = i - (out.rank - in.rank);
    const bool repeats =
        own < 0 || (sizes.is_constant(in.dims[static_cast<size_t>(own)], 1) && !sizes.is_constant(out.dims[at], 1));
    axes[at] = {out.dims[at], out.strides[at], repeats ? zero : in.strides[static_cast<size_t>(own)]};
  }
  return axes;
}

// Merges adjacent axes that are one axis in both tensors.
std::vector<SharedAxis> runs_of(SizeTable& sizes, std::span<const SharedAxis> axes) {
  std::vector<SharedAxis> runs;
  for (size_t i = axes.size(); i-- > 0;) {
    if (sizes.is_constant(axes[i].size, 1)) continue;
    SharedAxis run = axes[i];
    runs.push_back(run);
    for (size_t j = i; j-- > 0;) {
      const SharedAxis& outer = axes[j];
      if (sizes.is_constant(outer.size, 1)) continue;
      if (outer.from != sizes.mul(run.from, run.size) || outer.to != sizes.mul(run.to, run.size)) break;
      run.size = sizes.mul(run.size, outer.size);
      runs.push_back(run);
    }
  }
  return runs;
}

bool is_written(const GraphData& graph, size_t first, size_t last, uint32_t storage) {
  for (size_t n = first; n < last; ++n)
    if (writes(graph, graph.nodes[n], storage)) return true;
  return false;
}

}  // namespace

std::optional<float> factor_of(const Node& node) {
  if (node.op != Op::Elementwise || node.input_count() != 1) return std::nullopt;
  const auto& attrs = node.as<ElementwiseAttrs>();
  const std::optional<SimpleElementwise> simple = simple_of(attrs);
  if (simple && simple->kind == SimpleElementwise::Kind::Copy && simple->activation == Activation::None)
    return simple->scale;
  const ElementwiseAttrs::Step& step = attrs.steps[0];
  if (attrs.count != 1 || step.function != Function::Div || step.domain != Domain::Float ||
      !step.operands[1].is(ElementwiseAttrs::Operand::Scalar))
    return std::nullopt;
  return 1.0f / std::bit_cast<float>(attrs.scalars[step.operands[1].index()]);
}

bool move_view(SizeTable& sizes, std::span<const SharedAxis> axes, TensorInfo* view) {
  const std::vector<SharedAxis> runs = runs_of(sizes, axes);
  TensorInfo moved = *view;
  for (size_t i = 0; i < static_cast<size_t>(view->rank); ++i) {
    if (sizes.is_constant(view->dims[i], 1)) {
      moved.strides[i] = sizes.constant(0);
      continue;
    }
    // A part of a run takes every n-th element of it.
    const auto found = std::find_if(runs.begin(), runs.end(), [&](const SharedAxis& run) {
      return !sizes.is_constant(run.from, 0) && sizes.quotient(view->strides[i], run.from) &&
             sizes.quotient(sizes.mul(run.from, run.size), sizes.mul(view->strides[i], view->dims[i]));
    });
    if (found == runs.end()) return false;
    moved.strides[i] = sizes.mul(*sizes.quotient(view->strides[i], found->from), found->to);
  }
  *view = moved;
  return true;
}

bool regroup(SizeTable& sizes, const TensorInfo& shape, SizeId batch, SizeId heads, TensorInfo* view) {
  const SizeId one = sizes.constant(1), zero = sizes.constant(0);
  const auto dim = [&](int from_end) {
    return from_end < view->rank ? view->dims[static_cast<size_t>(view->rank - 1 - from_end)] : one;
  };
  const auto stride = [&](int from_end) {
    return sizes.is_constant(dim(from_end), 1) ? zero : view->strides[static_cast<size_t>(view->rank - 1 - from_end)];
  };
  std::array<SharedAxis, kMaxRank> axes{};
  SizeId rows = one;
  for (int i = shape.rank - 3; i >= 0; --i) {
    const SizeId size = shape.dims[static_cast<size_t>(i)];
    axes[static_cast<size_t>(i)] = {size, rows, stride(shape.rank - 1 - i)};
    rows = sizes.mul(rows, size);
  }
  if (rows != sizes.mul(batch, heads)) return false;
  TensorInfo lead;
  lead.rank = 2;
  lead.dims = {batch, heads};
  lead.strides = {heads, one};
  if (!move_view(sizes, std::span(axes).first(static_cast<size_t>(std::max(shape.rank - 2, 0))), &lead)) return false;
  TensorInfo made = *view;
  made.name.clear();
  made.rank = 4;
  for (size_t i = 0; i < 2; ++i) {
    made.dims[i] = sizes.is_constant(lead.strides[i], 0) ? one : lead.dims[i];
    made.strides[i] = lead.strides[i];
    made.dims[3 - i] = dim(static_cast<int>(i));
    made.strides[3 - i] =
        view->rank > static_cast<int>(i) ? view->strides[static_cast<size_t>(view->rank - 1) - i] : zero;
  }
  *view = made;
  return true;
}

void see_through(const GraphData& graph, Build& build, const Dataflow& flow, size_t reader, TensorInfo* view,
                 float* factor) {
  SizeTable& sizes = build.data().sizes;
  while (sizes.is_constant(view->offset, 0)) {
    const int64_t maker = flow.producer[view->storage];
    if (maker < 0 || flow.first_producer[view->storage] != maker || build.is_state(view->storage)) return;
    const Node& node = graph.nodes[static_cast<size_t>(maker)];
    const std::optional<float> scale = factor_of(node);
    const Tensor made = node.outputs[0];
    if (!scale || (*scale != 1.0f && factor == nullptr) || made.id != view->storage) return;
    const TensorInfo out = build.info(made), in = build.info(node.inputs[0]);
    if (in.dtype != out.dtype || is_written(graph, static_cast<size_t>(maker), reader, in.storage)) return;
    const auto axes = axes_between(sizes, sizes.constant(0), out, in);
    TensorInfo moved = *view;
    if (!move_view(sizes, std::span(axes).first(static_cast<size_t>(out.rank)), &moved)) return;
    // Kernels need rows with contiguous elements.
    const auto last = static_cast<size_t>(moved.rank - 1);
    if (!sizes.is_constant(moved.strides[last], 1) && !sizes.is_constant(moved.dims[last], 1)) return;
    moved.storage = in.storage;
    moved.offset = in.offset;
    *view = moved;
    if (factor != nullptr) *factor *= *scale;
  }
}

}  // namespace heed::detail
