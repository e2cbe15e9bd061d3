// Vector code of optimizers, one table per instruction set. Arrays have any length and alignment.
#pragma once

#include <cstdint>

#include "base/update.hpp"

namespace heed::cpu {

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
