#include <limits>

#include "cpu/rows.hpp"

namespace heed::cpu {
namespace {

// Logit of a key that is left out. Keys are told apart by comparing with it, never by arithmetic on it; a
// logit that is -infinity by itself counts as left out too.
constexpr float kHidden = -std::numeric_limits<float>::infinity();

struct BoolMask {
  Operand operand;  // U8, seen with the shape it is applied to
  Mask::Meaning meaning = Mask::Meaning::Exclude;

  // Gives the keys that the mask leaves out the logit `value`.
  void apply(int64_t offset, int64_t n, float value, float* logits) const {
    const int64_t stride = row_stride(operand.view);
    const auto* bytes = operand.at<const uint8_t>(offset);
    const bool excluded = meaning == Mask::Meaning::Exclude;
    for (int64_t i = 0; i < n; ++i) logits[i] = (bytes[i * stride] != 0) == excluded ? value : logits[i];
  }
};

struct Operands {
  Operand x, out, bias;
  BoolMask key_padding, mask;
  const SoftmaxAttrs& attrs;

  explicit Operands(const Step& step) : attrs(step.node.as<SoftmaxAttrs>()) {
    x = step.input(in::kX);
    out = step.output();
    bias = step.input_like(in::kSoftmaxBias, x.view);
    mask = {step.input_like(in::kMask, x.view), attrs.mask_meaning};
    key_padding = {step.input(in::kKeyPadding), attrs.key_padding_meaning};
  }

  int64_t queries() const { return x.view.rank > 1 ? x.view.dim[x.view.rank - 2] : 1; }

  // How many keys, from the first on, causality shows to row `row`.
  int64_t causal_keys(int64_t row) const {
    const int64_t keys = row_length(x.view), query = row % queries();
    if (attrs.causal == Causal::None) return keys;
    const int64_t shift = attrs.causal == Causal::BottomRight ? keys - queries() : 0;
    return std::clamp<int64_t>(query + shift + 1, 0, keys);
  }

  // Writes the logits of row `row`, with masked keys at their fill value or kHidden.
  void logits(int64_t row, float* row_logits, float* buffer) const {
    const int64_t n = row_length(x.view);
    const float* from = load_row(x, row, buffer);
    x.kernels->scale(from, attrs.scale, row_logits, n);
    if (bias.valid()) {
      const float* add = load_row(bias, row, buffer);
      x.kernels->add(row_logits, add, row_logits, n);
    }
    const float fill = attrs.masked_fill.value_or(kHidden);
    if (mask.operand.valid()) mask.apply(row_offset(mask.operand.view, row), n, fill, row_logits);
    if (key_padding.operand.valid()) {
      const int64_t batch = row / (row_count(x.view) / x.view.dim[0]);
      key_padding.apply(batch * key_padding.operand.view.stride[0], n, fill, row_logits);
    }
    for (int64_t i = causal_keys(row); i < n; ++i) row_logits[i] = fill;
  }
};

}  // namespace

ScratchNeed softmax_scratch(const ScratchQuery& query) {
  return row_scratch(query, query.node.outputs[0], 2);
}

void run_softmax(const Step& step) {
  const Operands operands(step);
  const int64_t n = row_length(operands.out.view);
  step.parallel(row_count(operands.out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* logits = step.scratch<float>(worker);
    for (int64_t row = begin; row < end; ++row) {
      operands.logits(row, logits, logits + row_pitch(n));
      float* to = row_target(operands.out, row, logits);
      step.kernels.rows->softmax(logits, to, n);
      store_row(operands.out, row, to);
    }
  });
}

}  // namespace heed::cpu
