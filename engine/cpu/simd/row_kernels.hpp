// Vector code on rows of f32, one table per instruction set. Rows have any length and alignment. Results go to `out`, which
// may be an input.
#pragma once

#include <cstdint>
#include <heed/graph.hpp>

#include "base/philox.hpp"
#include "graph/functions.hpp"

namespace heed::cpu {

// The dropout of one pass at one run.
struct DropoutRule {
  DropoutWords words;
  uint32_t seed = 0;
  uint32_t stream = 0;
};

// n floats or whole numbers of 32 bits, or one that stands for as many.
struct FunctionOperand {
  const float* data = nullptr;
  bool scalar = false;
};

// Inputs of layernorm and rmsnorm; null: absent.
struct NormRow {
  const float* x = nullptr;
  const float* residual = nullptr;  // added to x first
  const float* gamma = nullptr;
  const float* beta = nullptr;
  float eps = 0.0f;
  const float* next = nullptr;  // a row of x that layernorm prefetches meanwhile
};

// A row's gradient adds to these, n floats each; null: nobody wants it.
struct NormSums {
  float* gamma = nullptr;  // upstream times the normalized row
  float* beta = nullptr;   // upstream
  float* rows = nullptr;   // the gradient of x, with the residual
};

// Only reproducible plans have these functions, whose rows have the bits of tests/reproducible/README.md.
struct CanonKernels {
  // x / max(length of x, eps).
  void (*l2_normalize)(const float* x, float eps, float* out, int64_t n) = nullptr;
  // Columns of a reduction: takes an element into each sum, a sum into another, and makes the results of the sums. `largest` is the largest
  // element for LogSumExp and the largest magnitude for L2; others do not read it. Mean divides by `count`, and is 0 if that is 0.
  void (*add)(Reduction kind, const float* x, const float* largest, float* sums, int64_t n) = nullptr;
  void (*join)(Reduction kind, const float* x, float* sums, int64_t n) = nullptr;
  void (*finish)(Reduction kind, const float* sums, const float* largest, int64_t count, float* out,
                 int64_t n) = nullptr;
  // As RowKernels::softmax; gives the log-sum-exp of the row, which is -infinity where there is nothing else.
  float (*softmax)(const float* x, float scale, float* out, int64_t n) = nullptr;
  void (*flush)(const float* x, float* out, int64_t n) = nullptr;  // subnormals become 0, NaN the one that is stored
  void (*turn)(uint32_t angle, float* cosine, float* sine) = nullptr;  // of 2^-32 turns
  void (*rotate)(float cosine, float sine, float* a, float* b) = nullptr;
  // The cross-entropy of a row of logits, whose label is one of them; and its gradient, where that of the loss is g.
  float (*loss)(const float* x, int64_t n, int64_t label, float smoothing) = nullptr;
  void (*loss_backward)(const float* x, int64_t n, int64_t label, float smoothing, float g, float* out) = nullptr;
  // As RowKernels::layernorm_backward, for l2_normalize.
  void (*l2_backward)(const NormRow& row, const float* upstream, const NormSums& sums, float* out, int64_t n) = nullptr;
};

struct RowKernels {
  const CanonKernels* canon = nullptr;  // null but in reproducible plans, whose tables lack what these do not need

  // Computes one step of an elementwise program. `x` has three operands always; a function of fewer gets the first again.
  // Operands and results of Domain::Whole and Byte are whole numbers.
  void (*apply)(Function function, Domain domain, const FunctionOperand* x, float* out, int64_t n) = nullptr;

  void (*activate)(Activation kind, const float* x, float* out, int64_t n) = nullptr;
  // g times the derivative of the activation at x.
  void (*activate_backward)(Activation kind, const float* g, const float* x, float* out, int64_t n) = nullptr;
  void (*add)(const float* a, const float* b, float* out, int64_t n) = nullptr;
  void (*multiply)(const float* a, const float* b, float* out, int64_t n) = nullptr;
  void (*scale)(const float* x, float factor, float* out, int64_t n) = nullptr;

  // e^(s - largest s) / sum for s = scale x, zero where s is -infinity; a row of nothing else gives zeros. `next`: a row
  // to prefetch meanwhile, or null.
  void (*softmax)(const float* x, float scale, float* out, int64_t n, const float* next) = nullptr;
  // The largest element; NaN are passed over, and a row of nothing else gives -infinity.
  float (*largest)(const float* x, int64_t n) = nullptr;
  // out[i] = e^(x[i] - largest), which are at most 1; gives their sum.
  double (*powers)(const float* x, float largest, float* out, int64_t n) = nullptr;
  // (v - mean) / sqrt(variance + eps) * gamma + beta with v = x + residual, for up to kNormRows rows at once.
  static constexpr int64_t kNormRows = 4;
  void (*layernorm)(const NormRow* rows, float* const* outs, int64_t count, int64_t n) = nullptr;
  // v / sqrt(mean of v^2 + eps) * gamma.
  void (*rmsnorm)(const NormRow& row, float* out, int64_t n) = nullptr;

  // The gradient of a row of weights p that a softmax gave: scale * p (g - sum of p g), 0 where p is 0, whose g is not
  // read, and where visible, which may be null, is 0.
  void (*softmax_backward)(const float* p, const float* g, const float* visible, float scale, float* out,
                           int64_t n) = nullptr;
  // The gradient of x, with `row.gamma`, from that of what the norm gave: `upstream`. Row.residual is added to it; beta does not
  // count.
  void (*layernorm_backward)(const NormRow& row, const float* upstream, const NormSums& sums, float* out,
                             int64_t n) = nullptr;
  void (*rmsnorm_backward)(const NormRow& row, const float* upstream, const NormSums& sums, float* out,
                           int64_t n) = nullptr;

  // x[i] is element `first + i` of the tensor, counted row-major over its shape of this run.
  void (*dropout)(const DropoutRule& rule, uint64_t first, const float* x, float* out, int64_t n) = nullptr;

  // Copies with stores that go past the caches, where the processor has them. Other threads see the copy after
  // hwy::FlushStream().
  void (*copy_past_caches)(const float* x, float* out, int64_t n) = nullptr;

  // Convert between f32 and F16 or BF16; round to nearest even.
  void (*widen)(DType type, const uint16_t* x, float* out, int64_t n) = nullptr;
  void (*narrow)(DType type, const float* x, uint16_t* out, int64_t n) = nullptr;
};

}  // namespace heed::cpu
