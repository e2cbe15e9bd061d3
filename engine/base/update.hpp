// Rows of f32 that pass the numbers of a step to an optimizer's passes, and from one pass to the next. shaders/shared/update_words.h has
// the same rows for GLSL.
#pragma once

namespace heed {

// AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101), where t counts the steps taken:
//   m = first m + first_rest g;  v = second v + second_rest g^2
//   w -= decay w + rate / (1 - first^t) m / (sqrt(v / (1 - second^t)) + eps)      decay: rate times the weight decay
// SGD with momentum:
//   g += decay w;  m = first m + first_rest g;  w -= rate m, or rate (g + first m) if Nesterov's      decay: the weight decay
// Without a moment m is g.
struct UpdateSettings {
  float rate, decay;
  float first, first_rest;  // a factor, and 1 minus it, computed in double since f32 would lose digits
  float second, second_rest;
  float eps;
  float log_first, log_second;  // natural logarithms of the factors
  // Read from row 0 for all rows. `gradient` multiplies the gradients. If their norm then exceeds `most_norm`, they are clipped to it; 0:
  // no clipping. `applies` is 0 if the run takes no step. `loss_scale` multiplies the loss.
  float gradient, most_norm, applies, loss_scale;
  float unused[3];
};

struct UpdateFactors {
  float gradient;  // factor of the gradients
  float taken;     // 1: the step is taken; 0: `applies` was 0; -1: skipped, since the norm is infinite or NaN
  float norm;      // norm of all gradients, before clipping
  float step;      // steps taken, including this one
};

// Squares are summed in blocks of this many neighbours.
inline constexpr int kSquaresBlock = 4096;

}  // namespace heed
