// Vector code of optimizers, one table per instruction set. Arrays have any length and alignment.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/update.hpp"

namespace heed::cpu {

// Is added to the norm before it divides, as PyTorch's clip_grad_norm_ does.
inline constexpr float kLeastNorm = 1e-6f;

// Decides what a step does after `steps` others: none is taken whose norm is infinite or NaN. factor() is what gradients are
// multiplied by where one is taken.
template <class Factor>
UpdateFactors factors_of(const UpdateSettings& settings, float norm, float steps, const Factor& factor) {
  const bool whole = std::isfinite(norm);
  UpdateFactors factors{};
  factors.taken = settings.applies == 0.0f ? 0.0f : whole ? 1.0f : -1.0f;
  factors.norm = whole ? norm : std::numeric_limits<float>::quiet_NaN();
  factors.step = factors.taken > 0.0f ? steps + 1.0f : steps;
  if (factors.taken > 0.0f) factors.gradient = factor();
  return factors;
}

// Numbers of one step. The gradient is multiplied by `factor` first.
struct UpdateNumbers {
  float factor = 0.0f;
  float rate = 0.0f, decay = 0.0f;  // AdamW: the rate is divided by 1 - first^t
  float first = 0.0f, first_rest = 0.0f;
  float second = 0.0f, second_rest = 0.0f;
  float second_scale = 0.0f;  // 1 / (1 - second^t)
  float eps = 0.0f;
  bool nesterov = false;
};

// Only reproducible plans have these functions, whose numbers have the bits of tests/reproducible/README.md.
struct CanonUpdateKernels {
  // Decides what a step does. `squares` are `count` sums of UpdateKernels::squares, of all gradients.
  UpdateFactors (*factors)(const UpdateSettings& settings, const double* squares, int64_t count, float steps) = nullptr;
  // Divides AdamW's rate, and 1, by what its moments lack after so many steps.
  void (*correct)(const UpdateSettings& settings, float steps, UpdateNumbers* numbers) = nullptr;
};

struct UpdateKernels {
  const CanonUpdateKernels* canon = nullptr;  // null but in reproducible plans
  // The sum of squares. Infinite, or NaN, if an element is, or a square is too large for f32.
  double (*squares)(const float* x, int64_t n) = nullptr;
  void (*adamw)(const UpdateNumbers& numbers, const float* gradient, float* weights, float* first, float* second,
                int64_t n) = nullptr;
  // Without a first moment if that is null.
  void (*sgd)(const UpdateNumbers& numbers, const float* gradient, float* weights, float* first, int64_t n) = nullptr;
};

}  // namespace heed::cpu
