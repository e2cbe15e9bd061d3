// C = scale A B: dA = scale dC B^T and dB = scale A^T dC, summed over the batches that an operand is broadcast to.
#include <array>

#include "train/rules.hpp"

namespace heed::train {
namespace {

// Whether the columns of [.., rows, columns] are contiguous, rather than the rows. The gradient is then computed transposed, so that it has
// the tensor's memory layout.
bool is_transposed(Backflow& flow, Tensor x) {
  const TensorInfo& info = flow.info(x);
  const auto last = static_cast<size_t>(info.rank - 1);
  const auto is_one = [&](SizeId size) { return flow.data().sizes.is_constant(size, 1); };
  return !is_one(info.strides[last]) && is_one(info.strides[last - 1]);
}

// Dequantizes b, [.., N, K] viewed as [.., K, N], to rows of f32, [.., N, K], by an embedding of all rows.
Tensor widened(Backflow& flow, Tensor b, DType dtype) {
  Build& build = flow.build();
  const int rank = flow.info(b).rank;
  const Tensor stored = build.add_transposed(b, rank - 2, rank - 1);
  const TensorInfo info = flow.info(stored);
  const SizeId width = info.dims[static_cast<size_t>(rank - 1)];
  const int64_t rows = build.max_elements(info) / build.max_of(width);
  const Tensor table = flow.graph().reshape(stored, {rows, build.dim_of(width)});
  const Tensor ids =
      build.shared_places(format("%lld", static_cast<long long>(rows)), rows, [](int64_t i) { return i; });
  const Tensor made = flow.graph().embedding(table, ids, dtype);
  return reshaped(flow, made, {info.dims.data(), static_cast<size_t>(rank)});
}

Tensor gradient_of_a(Backflow& flow, Tensor a, Tensor b, Tensor upstream, float scale) {
  Graph& g = flow.graph();
  const DType dtype = flow.info(upstream).dtype;
  if (is_quantized(flow.info(b).dtype)) return g.matmul(upstream, widened(flow, b, dtype), {.scale = scale});
  if (!is_transposed(flow, a) || flow.info(b).dtype != dtype)
    return g.matmul(upstream, b, {.transpose_b = true, .scale = scale});
  return g.transpose(g.matmul(b, upstream, {.transpose_b = true, .scale = scale}), -2, -1);
}

// [.., M, K] as [M', K], with the batches merged into M'.
Tensor flat(Backflow& flow, Tensor x) {
  const TensorInfo info = flow.info(x);
  SizeTable& sizes = flow.data().sizes;
  SizeId rows = sizes.constant(1);
  for (int i = 0; i + 1 < info.rank; ++i) rows = sizes.mul(rows, info.dims[static_cast<size_t>(i)]);
  return reshaped(flow, x, std::array{rows, info.dims[static_cast<size_t>(info.rank - 1)]});
}

Tensor gradient_of_b(Backflow& flow, Tensor a, Tensor b, Tensor upstream, float scale) {
  Graph& g = flow.graph();
  const TensorInfo &left = flow.info(a), &right = flow.info(b), &up = flow.info(upstream);
  bool shares_batches = left.rank == up.rank && right.rank == 2 && left.rank > 2;
  for (int i = 0; i + 2 < left.rank && shares_batches; ++i)
    shares_batches = left.dims[static_cast<size_t>(i)] == up.dims[static_cast<size_t>(i)];
  if (shares_batches) {  // one matmul sums over the batches, too
    a = flat(flow, a);
    upstream = flat(flow, upstream);
  }
  if (!a.valid() || !upstream.valid()) return {};
  if (!is_transposed(flow, b)) return g.matmul(a, upstream, {.transpose_a = true, .scale = scale});
  return g.transpose(g.matmul(upstream, a, {.transpose_a = true, .scale = scale}), -2, -1);
}

}  // namespace

void matmul_rule(Backflow& flow, const Node& node) {
  const Tensor a = node.inputs[in::kA], b = node.inputs[in::kB], upstream = flow.upstream(node.outputs[0]);
  const float scale = node.as<MatmulAttrs>().scale;
  if (flow.wants(a)) flow.add(a, gradient_of_a(flow, a, b, upstream, scale));
  if (flow.wants(b)) flow.add(b, gradient_of_b(flow, a, b, upstream, scale));
}

}  // namespace heed::train
