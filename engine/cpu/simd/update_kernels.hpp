// Vector code of optimizers, one table per instruction set. Arrays have any length and alignment.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/update.hpp"

namespace heed::cpu {

// Added to the norm before dividing by it, as in PyTorch's clip_grad_norm_.
inline constexpr float kLeastNorm = 1e-6f;

// Decides what a step does after `steps` others: it is skipped if the norm is infinite or NaN. factor() computes the factor of the
// gradients if it is taken.
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
  float rate = 0.0f, decay = 0.0f;  // AdamW: the rate is already divided by 1 - first^t
  float first = 0.0f, first_rest = 0.0f;
  float second = 0.0f, second_rest = 0.0f;
  float second_scale = 0.0f;  // 1 / (1 - second^t)
  float eps = 0.0f;
  bool nesterov = false;
};

// Functions of reproducible plans only, with the bits that tests/reproducible/README.md defines.
struct CanonUpdateKernels {
  // Decides what a step does. `squares` are `count` results of UpdateKernels::squares, for all gradients.
  UpdateFactors (*factors)(const UpdateSettings& settings, const double* squares, int64_t count, float steps) = nullptr;
  // AdamW's bias correction after so many steps: divides the rate by 1 - first^t, and 1 by 1 - second^t.
  void (*correct)(const UpdateSettings& settings, float steps, UpdateNumbers* numbers) = nullptr;
};

struct UpdateKernels {
  const CanonUpdateKernels* canon = nullptr;  // set in reproducible plans only
  // The sum of squares. Infinite or NaN if an element is, or if a square overflows f32.
  double (*squares)(const float* x, int64_t n) = nullptr;
  void (*adamw)(const UpdateNumbers& numbers, const float* gradient, float* weights, float* first, float* second,
                int64_t n) = nullptr;
  // `first` may be null: no momentum.
  void (*sgd)(const UpdateNumbers& numbers, const float* gradient, float* weights, float* first, int64_t n) = nullptr;
};

}  // namespace heed::cpu
