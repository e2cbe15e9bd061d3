// The expected results of operations: plain loops in double, written independently of the engine.
//
// Every value carries a bound on how far a correct f32 implementation may be from it, as in running error
// analysis (Wilkinson 1963; Higham, "Accuracy and Stability of Numerical Algorithms", 3.3): an operation
// propagates the bounds of its operands and adds its own rounding. u = 2^-24 is the unit roundoff of f32.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <heed/graph.hpp>
#include <heed/nn.hpp>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace heed::ops {

inline constexpr double kUnit = 0x1p-24;       // unit roundoff of f32
inline constexpr double kHalfUnit = 0x1p-11;   // of f16
inline constexpr double kBfloatUnit = 0x1p-8;  // of bf16

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Sizes = std::vector<int64_t>;

// A tensor in double, with an error bound for each element.
struct Array {
  Sizes shape;
  std::vector<double> value, bound;

  Array() = default;
  explicit Array(Sizes dims);
  int64_t size() const { return static_cast<int64_t>(value.size()); }
  int64_t dim(int from_end) const { return shape[shape.size() - 1 - static_cast<size_t>(from_end)]; }
  double& at(int64_t i) { return value[static_cast<size_t>(i)]; }
  double at(int64_t i) const { return value[static_cast<size_t>(i)]; }
  double& err(int64_t i) { return bound[static_cast<size_t>(i)]; }
  double err(int64_t i) const { return bound[static_cast<size_t>(i)]; }
};

int64_t count(const Sizes& shape);

// Nearest value of the storage type, ties to even.
double round_to(DType dtype, double x);
uint16_t half_bits(double x);
double half_value(uint16_t bits);
uint16_t bfloat_bits(double x);
double bfloat_value(uint16_t bits);
// The tensor after storing it in this type. F32 stays unchanged, since operations count that rounding.
Array stored(DType dtype, Array x);

// Random values without the standard library's distributions, so that data are the same everywhere.
Array uniform(const Sizes& shape, uint64_t seed, double low = -1.0, double high = 1.0);
Array filled(const Sizes& shape, double value);
Array whole_numbers(const Sizes& shape, uint64_t seed, int64_t low, int64_t high);  // low <= x < high
Array values(const Sizes& shape, std::vector<double> list);

// --- Layout ------------------------------------------------------------------------------------------------
Array reshape(Array x, const Sizes& shape);
Array permute(const Array& x, const std::vector<int>& axes);
Array slice(const Array& x, int axis, int64_t begin, int64_t size);
Array concat(const std::vector<Array>& parts, int axis);
Array broadcast(const Array& x, const Sizes& shape);

// --- Operations --------------------------------------------------------------------------------------------
Array add(const Array& a, const Array& b);
Array mul(const Array& a, const Array& b);
Array scale(const Array& x, double factor);
Array activation(const Array& x, Activation kind);
// Values at which every activation has saturated, with infinities and NaN, in rows of `shape`; activation_limits returns the results.
Array limit_values(const Sizes& shape);
Array activation_limits(const Array& x, Activation kind);
// a [..., M, K] x b [..., K, N], leading axes broadcast.
Array matmul(const Array& a, const Array& b, double factor = 1.0);
Array transposed(const Array& x);  // of the last two axes

struct SoftmaxReference {
  double scale = 1.0;
  Causal causal = Causal::None;
  // A query at p sees keys after p - window, and without causality those before p + window_ahead; 0: all.
  int64_t window = 0, window_ahead = 0;
  const Array* key_padding = nullptr;  // [B, S_k]
  bool key_padding_keeps = false;
  const Array* mask = nullptr;
  bool mask_keeps = false;
  const Array* bias = nullptr;
  const Array *lengths = nullptr, *positions = nullptr;  // [B]
  std::optional<double> masked_fill = {};
};
Array softmax(const Array& x, const SoftmaxReference& options = {});
Array logits(const Array& x, const SoftmaxReference& options);            // logits of softmax; -inf: masked
Array log_sum_exp(const Array& x, const SoftmaxReference& options = {});  // [..., S_k] -> [...]; -inf: all masked

Array layernorm(const Array& x, const Array* gamma, const Array* beta, double eps);
Array rmsnorm(const Array& x, const Array* gamma, double eps);
Array l2_normalize(const Array& x, double eps);
// `positions` has one position for each row of x, or broadcasts to that; null: the index along axis -2.
Array rotary(const Array& x, const RotaryOptions& options, const Array* positions);
// Rotation by cosines and sines, [.., width / 2] or [.., width], whose rows broadcast to those of x.
Array rotary(const Array& x, RotaryPairs pairs, int64_t width, const Array& cos, const Array& sin);
Array log_softmax(const Array& x);
Array cross_entropy(const Array& x, const Array& labels, double label_smoothing);
// nn::cross_entropy, with class_weights `weights`; null: none.
Array weighted_cross_entropy(const Array& x, const Array& labels, const Array* weights,
                             const nn::CrossEntropyOptions& options);
Array argmax(const Array& x);
// reference_reduce.cpp defines these. An empty list of axes means all.
Array reduce(const Array& x, Reduction kind, std::vector<int> axes, bool keep = false);
Array cumsum(const Array& x, int axis, bool exclusive = false, bool reverse = false);
// Indices of the first `count` elements in order along an axis, the largest or the smallest first. Of equal elements the first or the last
// index comes first.
Array first_indices(const Array& x, int axis, int64_t count, bool smallest, bool last);
Array take_along(const Array& x, int axis, const Array& indices);
Array mean(const Array& x, int axis, const Array* mask, bool mask_keeps);
Array embedding(const Array& table, const Array& ids);
Array sinusoids(int64_t positions, int64_t channels);
// The random words of a counter, by the published algorithm; and the word of element `index`.
std::array<uint32_t, 4> random_words(uint32_t seed, uint32_t stream, std::array<uint32_t, 4> counter);
uint32_t random_word(uint32_t seed, uint32_t stream, uint64_t index);
Array dropout(const Array& x, double p, uint32_t seed, uint32_t stream);

// Row operations with one operand, from which random graphs choose. Those that divide by a length read eps.
struct RowOperation {
  const char* name;
  Tensor (*build)(Graph& g, Tensor x, float eps);
  Array (*compute)(const Array& x, double eps);
};
std::span<const RowOperation> row_operations();

}  // namespace heed::ops
