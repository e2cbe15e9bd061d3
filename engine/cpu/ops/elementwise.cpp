#include "cpu/ops/copy.hpp"

namespace heed::cpu {
namespace {

constexpr int64_t kBlock = 4096;  // elements of a row handled at once; two buffers of f32 for them stay in L1

// Merges the last two axes into one as long as all operands step through them evenly, so that tensors of short rows are
// cut into long blocks, too.
void merge_axes(Operand* const (&operands)[3]) {
  const View& out = operands[0]->view;
  const auto mergeable = [](const View& v) {
    const int last = v.rank - 1;
    return v.dim[last] == 1 || v.dim[last - 1] == 1 || v.stride[last - 1] == v.stride[last] * v.dim[last];
  };
  while (out.rank > 1) {
    for (const Operand* x : operands)
      if (x->valid() && !mergeable(x->view)) return;
    for (Operand* x : operands) {
      if (!x->valid()) continue;
      View& v = x->view;
      const int last = v.rank - 1;
      if (v.dim[last] != 1) v.stride[last - 1] = v.stride[last];
      v.dim[last - 1] *= v.dim[last];
      --v.rank;
    }
  }
}

struct Operands {
  Operand out, a, b;
  const ElementwiseAttrs& attrs;
  bool plain_copy = false;

  explicit Operands(const Pass& pass) : attrs(pass.node.as<ElementwiseAttrs>()) {
    out = pass.output();
    a = pass.input_like(in::kA, out.view);
    b = pass.input_like(in::kB, out.view);
    plain_copy = attrs.kind == ElementwiseAttrs::Kind::Copy && attrs.scale == 1.0f &&
                 attrs.activation == Activation::None && a.view.dtype == out.view.dtype;
    merge_axes({&out, &a, &b});
  }

  // Computes elements first .. first + n of row `row`; `x` and `y` are buffers.
  void run(int64_t row, int64_t first, int64_t n, float* x, float* y) const {
    const auto at = [&](const Operand& o) { return row_offset(o.view, row) + first * row_stride(o.view); };
    if (plain_copy) return copy_elements(a, at(a), row_stride(a.view), out, at(out), row_stride(out.view), n);
    if (out.view.dtype == DType::I32) return add_whole(at(a), at(b), at(out), n);
    const float* v = load(a, at(a), row_stride(a.view), n, x);
    const RowKernels& kernels = *out.kernels;
    const bool direct = out.view.dtype == DType::F32 && row_stride(out.view) == 1;
    float* to = direct ? out.at<float>(at(out)) : x;
    if (b.valid()) {
      const float* other = load(b, at(b), row_stride(b.view), n, y);
      if (attrs.kind == ElementwiseAttrs::Kind::ActivationBackward)
        kernels.activate_backward(attrs.activation, v, other, to, n);
      else
        (attrs.kind == ElementwiseAttrs::Kind::Add ? kernels.add : kernels.multiply)(v, other, to, n);
      v = to;
    }
    if (attrs.scale != 1.0f) {
      kernels.scale(v, attrs.scale, to, n);
      v = to;
    }
    if (attrs.activation != Activation::None && attrs.kind != ElementwiseAttrs::Kind::ActivationBackward) {
      kernels.activate(attrs.activation, v, to, n);
      v = to;
    }
    if (a.view.dtype != out.view.dtype && kernels.canon != nullptr) {  // a cast
      kernels.canon->flush(v, to, n);
      v = to;
    }
    if (v != to || !direct) store(out, at(out), row_stride(out.view), n, v);
  }

  // Sums of I32 wrap around.
  void add_whole(int64_t at_a, int64_t at_b, int64_t at_out, int64_t n) const {
    const auto *one = a.at<const uint32_t>(at_a), *other = b.at<const uint32_t>(at_b);
    auto* const sums = out.at<uint32_t>(at_out);
    for (int64_t i = 0; i < n; ++i)
      sums[i * row_stride(out.view)] = one[i * row_stride(a.view)] + other[i * row_stride(b.view)];
  }
};

}  // namespace

ScratchNeed elementwise_scratch(const ScratchQuery&) { return {.shared = 0, .per_worker = 2 * kBlock * sizeof(float)}; }

void run_elementwise(const Pass& pass) {
  const Operands operands(pass);
  const int64_t length = row_length(operands.out.view);
  const int64_t blocks = ceil_div(length, kBlock), rows = row_count(operands.out.view);
  pass.parallel(rows * blocks, row_grain(std::min(length, kBlock)), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* buffer = pass.scratch<float>(worker);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kBlock;
      operands.run(i / blocks, first, std::min(kBlock, length - first), buffer, buffer + kBlock);
    }
  });
}

}  // namespace heed::cpu
