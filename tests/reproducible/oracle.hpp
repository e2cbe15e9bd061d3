// The canon of README.md in plain loops over single numbers, to compare devices with. A planted fault changes one rule, so that a test can
// check whether its comparison detects it.
#pragma once

#include <cstdint>
#include <vector>

#include <heed/graph.hpp>

#include "base/update.hpp"

namespace heed::reproducible {

enum class Fault : uint8_t {
  None,
  FusedProducts,     // a * b + c with one rounding
  ReversedProducts,  // k in reverse order
  HalvesOfProducts,  // k in two halves
  LanesOfProducts,   // k by four sums, as in a vectorized dot product
  DoubleProducts,    // sums in double
  FineFactors,       // small factors are not flushed
  FusedEpilogue,     // scale and bias with one rounding
  LanesOfRows,       // 64 sums for a row
  NeighboursOfRows,  // neighbours are added first
  DoubleRows,        // sums of rows in double
  LibraryExp,        // std::exp
  DividedWeights,    // e / sum
  RoughReciprocal,   // the last step is missing
  LibraryRoot,       // 1 / std::sqrt
  DividedMean,       // sum / n
  KeptSubnormals,    // nothing is flushed
  FlushedBelow,      // 2^-126 itself is not flushed
  PayloadOfNan,      // NaN are stored unchanged
  SignedZeros,       // -0 is kept
  FusedPolynomial,   // e^x by fused multiply-adds
  RoundedDown,       // products rounded towards zero
  HiddenValues,      // values of hidden keys are multiplied by their weights of 0
  LibraryLog,        // std::log
  ReversedTable,     // rows with one id in reverse order
  OneSumOfRows,      // rows of a norm one after the other, not in 16 sums
};
inline constexpr Fault kFaults[] = {
    Fault::FusedProducts,    Fault::ReversedProducts, Fault::HalvesOfProducts, Fault::LanesOfProducts,
    Fault::DoubleProducts,   Fault::FineFactors,      Fault::FusedEpilogue,    Fault::LanesOfRows,
    Fault::NeighboursOfRows, Fault::DoubleRows,       Fault::LibraryExp,       Fault::DividedWeights,
    Fault::RoughReciprocal,  Fault::LibraryRoot,      Fault::DividedMean,      Fault::KeptSubnormals,
    Fault::FlushedBelow,     Fault::PayloadOfNan,     Fault::SignedZeros,      Fault::FusedPolynomial,
    Fault::RoundedDown,      Fault::HiddenValues,     Fault::LibraryLog,       Fault::ReversedTable,
    Fault::OneSumOfRows};
const char* to_string(Fault fault);

using Floats = std::vector<float>;

Floats turned(const Floats& x, int64_t rows);  // transposed

float coarse(float x);
float on_grid(float x);
// The power of two for a row with this largest magnitude, or with `least` if that is larger.
float row_scale(const Floats& values, uint32_t least);
uint32_t near_root(float eps);

struct Oracle {
  Fault fault = Fault::None;

  float canonical(float x) const;
  float exp(float x) const;
  float reciprocal(float x) const;
  float reciprocal_root(float x) const;
  float normal_tail(float t) const;  // Phi(-t)
  float activate(Activation kind, float x) const;

  // act(scale * (a x b) + bias), a [m, k], b [k, n], bias [n].
  enum class Zeros : uint8_t { Multiplied, Skipped };  // elements of a that count as 0
  Floats product(const Floats& a, const Floats& b, const Floats& bias, int64_t m, int64_t n, float scale,
                 Activation kind, Zeros zeros = Zeros::Multiplied) const;
  // The attention of one head, with as many queries as keys: its scores, -infinity for hidden keys, and its output.
  Floats causal_scores(const Floats& q, const Floats& k, int64_t rows, float scale) const;
  Floats causal_attention(const Floats& q, const Floats& k, const Floats& v, int64_t rows, float scale) const;
  // Rows of n elements.
  Floats softmax(const Floats& x, int64_t n, float scale) const;
  Floats log_sum_exp(const Floats& x, int64_t n) const;
  Floats layernorm(const Floats& x, const Floats& gamma, const Floats& beta, int64_t n, float eps) const;
  Floats rmsnorm(const Floats& x, const Floats& gamma, int64_t n, float eps) const;
  Floats l2_normalize(const Floats& x, int64_t n, float eps) const;
  // The mean of all rows: [m, n] to [n].
  Floats mean(const Floats& x, int64_t n) const;
  // Product, LogSumExp or L2 of each column; and running sums of a row.
  Floats reduce(Reduction kind, const Floats& x, int64_t n) const;
  Floats cumsum(const Floats& x, int64_t n) const;
  Floats add(const Floats& a, const Floats& b) const;
  Floats multiply(const Floats& a, const Floats& b) const;

  // Elementwise functions of flushed operands, in oracle_functions.cpp. For a NaN operand, functions of one operand return NaN.
  float flush(float x) const;
  float quotient(float a, float b) const;
  float modulo(float a, float b) const;
  float power(float a, float b) const;
  float exact_root(float x) const;
  float inverse_root(float x) const;
  float any_exp(float x) const;
  float any_log(float x) const;
  float sigmoid(float x) const;
  float softplus(float x) const;
  float elu(float x, float alpha) const;
  float erf(float x) const;
  float sine(float x, int quarters) const;  // of x plus so many quarter turns

  // The functions of training are in oracle_training.cpp.
  // x = 2^n (1 + f), with 1 + f between the roots of 1/2 and 2, and ln(1 + f) = f - f^2 / 2 + cubic.
  struct LogParts {
    float n, f, cubic;
  };
  LogParts log_parts(float x) const;
  float log(float x) const;
  float root(float x) const;
  float one_less_power(float x) const;
  float derivative(Activation kind, float x) const;
  // Rows of n logits with a label each. `upstream` is the gradient of the losses.
  Floats loss(const Floats& x, const std::vector<int32_t>& labels, int64_t n, float smoothing) const;
  Floats loss_backward(const Floats& x, const std::vector<int32_t>& labels, const Floats& upstream, int64_t n,
                       float smoothing) const;
  Floats softmax_backward(const Floats& weights, const Floats& upstream, int64_t n, float scale) const;
  struct AttentionGradients {
    Floats q, k, v;
  };
  AttentionGradients causal_attention_backward(const Floats& q, const Floats& k, const Floats& v,
                                               const Floats& upstream, int64_t rows, float scale) const;
  enum class Norm : uint8_t { Layer, Rms, L2 };
  struct NormGradients {
    Floats x, gamma, beta;
  };
  NormGradients norm_backward(Norm kind, const Floats& x, const Floats& upstream, const Floats& gamma, int64_t n,
                              float eps) const;
  Floats embedding_backward(const Floats& rows, const std::vector<int32_t>& ids, int64_t vocabulary, int64_t n) const;
  // The norm of a gradient, and the factor of clipping.
  float norm_of(const Floats& gradient) const;
  float clip(const UpdateSettings& numbers, const Floats& gradient) const;
  // A step of SGD, with a first moment if it is not empty, and one of AdamW, number `steps`. Clipping is the gradient's only factor.
  void sgd(const UpdateSettings& numbers, bool nesterov, const Floats& gradient, Floats* weights, Floats* first) const;
  void adamw(const UpdateSettings& numbers, float steps, const Floats& gradient, Floats* weights, Floats* first,
             Floats* second) const;

 private:
  float positive_power(float a, float b) const;
  float times(float a, float b) const;
  float plus(float a, float b) const;
  float multiply_add(float a, float b, float c) const;
  float row_sum(const Floats& values) const;
  float over(float sum, int64_t n) const;
  float reduce_column(Reduction kind, const Floats& values) const;
};

}  // namespace heed::reproducible
