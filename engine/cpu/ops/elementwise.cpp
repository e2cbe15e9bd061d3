#include <algorithm>
#include <array>
#include <span>

#include "cpu/ops/copy.hpp"

namespace heed::cpu {
namespace {

using Attrs = ElementwiseAttrs;

constexpr int64_t kBuffers = 8192;  // elements of all buffers of a worker, so that they stay in L1

// Merges the last two axes as long as all operands have a common stride, so that tensors with short rows are also processed in long blocks.
void merge_axes(std::span<Operand> operands) {
  const auto mergeable = [](const View& v) {
    const int last = v.rank - 1;
    return v.dim[last] == 1 || v.dim[last - 1] == 1 || v.stride[last - 1] == v.stride[last] * v.dim[last];
  };
  while (operands[0].view.rank > 1) {
    for (const Operand& x : operands)
      if (!mergeable(x.view)) return;
    for (Operand& x : operands) {
      View& v = x.view;
      const int last = v.rank - 1;
      if (v.dim[last] != 1) v.stride[last - 1] = v.stride[last];
      v.dim[last - 1] *= v.dim[last];
      --v.rank;
    }
  }
}

// Steps take floats, or 32-bit integers. Returns a pointer into the tensor if it can be read in place, else `buffer` with the values.
const float* load_values(const Operand& x, int64_t offset, int64_t n, float* buffer) {
  const int64_t stride = row_stride(x.view);
  if (domain_of(x.view.dtype) == Domain::Float) return load(x, offset, stride, n, buffer);
  if (x.view.dtype == DType::I32 && stride == 1) return x.at<float>(offset);
  auto* const to = reinterpret_cast<uint32_t*>(buffer);
  if (x.view.dtype == DType::I32)
    copy_strided(x.at<const uint32_t>(offset), stride, to, 1, n);
  else
    for (int64_t i = 0; i < n; ++i) to[i] = x.at<const uint8_t>(offset)[i * stride];
  return buffer;
}
void store_values(const Operand& x, int64_t offset, int64_t n, const float* values) {
  const int64_t stride = row_stride(x.view);
  if (domain_of(x.view.dtype) == Domain::Float) return store(x, offset, stride, n, values);
  const auto* const from = reinterpret_cast<const uint32_t*>(values);
  if (x.view.dtype == DType::I32) return copy_strided(from, 1, x.at<uint32_t>(offset), stride, n);
  for (int64_t i = 0; i < n; ++i) x.at<uint8_t>(offset)[i * stride] = static_cast<uint8_t>(from[i]);
}

// A pass, and the buffer to which each step writes. A buffer is reused after the last step that reads it.
class Program {
 public:
  explicit Program(const Pass& pass) : attrs_(pass.node.as<Attrs>()), inputs_(pass.node.input_count()) {
    operands_[0] = pass.output();
    for (size_t i = 0; i < inputs_; ++i) operands_[i + 1] = pass.input_like(i, operands_[0].view);
    merge_axes(std::span(operands_).first(inputs_ + 1));
    moves_ = attrs_.is_copy() && operands_[1].view.dtype == out().view.dtype;
    direct_ = (out().view.dtype == DType::F32 || out().view.dtype == DType::I32) && row_stride(out().view) == 1;
    give_buffers();
    block_ = std::max<int64_t>(kBuffers / std::max<int64_t>(buffers_, 2) / 16 * 16, 16);
  }

  const Operand& out() const { return operands_[0]; }
  int64_t block() const { return block_; }

  // Computes elements first .. first + n of row `row`.
  void run(int64_t row, int64_t first, int64_t n, float* buffers) const {
    std::array<int64_t, Attrs::kInputs + 1> at{};
    for (size_t i = 0; i <= inputs_; ++i)
      at[i] = row_offset(operands_[i].view, row) + first * row_stride(operands_[i].view);
    if (moves_)
      return copy_elements(operands_[1], at[1], row_stride(operands_[1].view), out(), at[0], row_stride(out().view), n);
    // Inputs, then results of steps, indexed by Attrs::Operand.
    std::array<FunctionOperand, Attrs::Operand::Scalar + Attrs::kScalars> values{};
    for (size_t i = 0; i < inputs_; ++i)
      values[i].data = load_values(operands_[i + 1], at[i + 1], n, buffers + static_cast<int64_t>(i) * block_);
    for (size_t i = 0; i < attrs_.scalar_count; ++i)
      values[Attrs::Operand::Scalar + i] = {reinterpret_cast<const float*>(&attrs_.scalars[i]), true};
    for (size_t i = 0; i < attrs_.count; ++i) {
      const Attrs::Step& step = attrs_.steps[i];
      const bool last = i + 1 == attrs_.count;
      float* const to = last && direct_ ? out().at<float>(at[0]) : buffers + buffer_of_[i] * block_;
      FunctionOperand x[3];
      for (size_t k = 0; k < 3; ++k) x[k] = values[step.operands[k].number];
      for (int k = info_of(step.function).operands; k < 3; ++k) x[k] = x[0];
      // In plans that are not reproducible a copy does not change values.
      const bool same = attrs_.is_copy() && out().kernels->canon == nullptr && !direct_;
      if (!same) out().kernels->apply(step.function, step.domain, x, to, n);
      values[Attrs::Operand::Step + i].data = same ? x[0].data : to;
    }
    if (!direct_) store_values(out(), at[0], n, values[Attrs::Operand::Step + attrs_.count - 1].data);
  }

 private:
  void give_buffers() {
    std::array<size_t, Attrs::kSteps> last_read{};
    for (size_t i = 0; i < attrs_.count; ++i)
      for (const Attrs::Operand x : attrs_.steps[i].operands)
        if (x.is(Attrs::Operand::Step)) last_read[x.index()] = i;
    std::array<size_t, Attrs::kSteps> free_from{};
    size_t used = 0;
    for (size_t i = 0; i < attrs_.count; ++i) {
      size_t b = 0;
      while (b < used && free_from[b] > i) ++b;
      used = std::max(used, b + 1);
      // Elements are read before the result at the same index is written, so the last reader may write to the same buffer.
      free_from[b] = std::max(last_read[i], i + 1);
      buffer_of_[i] = static_cast<int64_t>(inputs_ + b);
    }
    buffers_ = static_cast<int64_t>(inputs_ + used);
  }

  const Attrs& attrs_;
  std::array<Operand, Attrs::kInputs + 1> operands_;  // the result, then the inputs
  const size_t inputs_;
  std::array<int64_t, Attrs::kSteps> buffer_of_{};
  int64_t buffers_ = 0, block_ = 0;
  bool moves_ = false, direct_ = false;
};

}  // namespace

ScratchNeed elementwise_scratch(const ScratchQuery&) { return {.shared = 0, .per_worker = kBuffers * sizeof(float)}; }

void run_elementwise(const Pass& pass) {
  const Program program(pass);
  const int64_t length = row_length(program.out().view), block = program.block();
  const int64_t blocks = ceil_div(length, block), rows = row_count(program.out().view);
  pass.parallel(rows * blocks, row_grain(std::min(length, block)), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* buffers = pass.scratch<float>(worker);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * block;
      program.run(i / blocks, first, std::min(block, length - first), buffers);
    }
  });
}

}  // namespace heed::cpu
