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

// n floats or 32-bit integers, or one that stands for n equal ones.
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
  const float* next = nullptr;  // a row of x that layernorm prefetches
};

// Sums over rows to which a row's gradient is added, n floats each; null: not needed.
struct NormSums {
  float* gamma = nullptr;  // upstream times the normalized row
  float* beta = nullptr;   // upstream
  float* rows = nullptr;   // the gradient of x, with the residual
};

// Functions of reproducible plans only, with the bits that tests/reproducible/README.md defines.
struct CanonKernels {
  // x / max(length of x, eps).
  void (*l2_normalize)(const float* x, float eps, float* out, int64_t n) = nullptr;
  // Columns of a reduction: add an element to each sum, add sums, and compute results from sums. `largest` is the largest element for
  // LogSumExp and the largest magnitude for L2; others do not read it. Mean divides by `count`, and is 0 if that is 0.
  void (*add)(Reduction kind, const float* x, const float* largest, float* sums, int64_t n) = nullptr;
  void (*join)(Reduction kind, const float* x, float* sums, int64_t n) = nullptr;
  void (*finish)(Reduction kind, const float* sums, const float* largest, int64_t count, float* out,
                 int64_t n) = nullptr;
  // As RowKernels::softmax; returns the log-sum-exp of the row, or -infinity if all elements are.
  float (*softmax)(const float* x, float scale, float* out, int64_t n) = nullptr;
  void (*flush)(const float* x, float* out, int64_t n) = nullptr;      // subnormals become 0, NaN the canonical one
  void (*turn)(uint32_t angle, float* cosine, float* sine) = nullptr;  // the angle is in units of 2^-32 turns
  void (*rotate)(float cosine, float sine, float* a, float* b) = nullptr;
  // The cross entropy of a row of logits, whose label is valid; and its gradient for an upstream gradient g.
  float (*loss)(const float* x, int64_t n, int64_t label, float smoothing) = nullptr;
  void (*loss_backward)(const float* x, int64_t n, int64_t label, float smoothing, float g, float* out) = nullptr;
  // As RowKernels::layernorm_backward, for l2_normalize.
  void (*l2_backward)(const NormRow& row, const float* upstream, const NormSums& sums, float* out, int64_t n) = nullptr;
};

struct RowKernels {
  const CanonKernels* canon = nullptr;  // set in reproducible plans only, whose tables lack the functions that they do
                                        // not use

  // Computes one step of an elementwise program. `x` always has three operands; missing ones repeat the first. Operands and results of
  // Domain::Whole and Byte are integers.
  void (*apply)(Function function, Domain domain, const FunctionOperand* x, float* out, int64_t n) = nullptr;

  void (*activate)(Activation kind, const float* x, float* out, int64_t n) = nullptr;
  // g times the derivative of the activation at x.
  void (*activate_backward)(Activation kind, const float* g, const float* x, float* out, int64_t n) = nullptr;
  void (*add)(const float* a, const float* b, float* out, int64_t n) = nullptr;
  void (*multiply)(const float* a, const float* b, float* out, int64_t n) = nullptr;
  void (*scale)(const float* x, float factor, float* out, int64_t n) = nullptr;

  // e^(s - largest s) / sum for s = scale x, zero where s is -infinity; a row of only -infinity gives zeros. `next`: a row to prefetch, or
  // null.
  void (*softmax)(const float* x, float scale, float* out, int64_t n, const float* next) = nullptr;
  // The largest element; ignores NaN, and is -infinity if there is no other element.
  float (*largest)(const float* x, int64_t n) = nullptr;
  // out[i] = e^(x[i] - largest), at most 1; returns their sum.
  double (*powers)(const float* x, float largest, float* out, int64_t n) = nullptr;
  // (v - mean) / sqrt(variance + eps) * gamma + beta with v = x + residual, for up to kNormRows rows at once.
  static constexpr int64_t kNormRows = 4;
  void (*layernorm)(const NormRow* rows, float* const* outs, int64_t count, int64_t n) = nullptr;
  // v / sqrt(mean of v^2 + eps) * gamma.
  void (*rmsnorm)(const NormRow& row, float* out, int64_t n) = nullptr;

  // The gradient of a row of softmax: scale * p (g - sum of p g), where p are its weights; 0 where p is 0, whose g is not read, and where
  // `visible`, which may be null, is 0.
  void (*softmax_backward)(const float* p, const float* g, const float* visible, float scale, float* out,
                           int64_t n) = nullptr;
  // The gradient of x, with `row.gamma`, from that of the norm's result: `upstream`. row.residual is added to it; beta is not read.
  void (*layernorm_backward)(const NormRow& row, const float* upstream, const NormSums& sums, float* out,
                             int64_t n) = nullptr;
  void (*rmsnorm_backward)(const NormRow& row, const float* upstream, const NormSums& sums, float* out,
                           int64_t n) = nullptr;

  // x[i] is element `first + i` of the tensor, in row-major order of its shape in this run.
  void (*dropout)(const DropoutRule& rule, uint64_t first, const float* x, float* out, int64_t n) = nullptr;

  // Copies with stores that bypass the caches, if the processor has them. Other threads see the copy after hwy::FlushStream().
  void (*copy_past_caches)(const float* x, float* out, int64_t n) = nullptr;

  // Convert between f32 and F16 or BF16; round to nearest even.
  void (*widen)(DType type, const uint16_t* x, float* out, int64_t n) = nullptr;
  void (*narrow)(DType type, const float* x, uint16_t* out, int64_t n) = nullptr;
};

}  // namespace heed::cpu
