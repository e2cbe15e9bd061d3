// Rows of f32 by which a run tells an optimizer's passes the numbers of a step, and by which these tell each other.
// shaders/shared/update_words.h has the same rows for GLSL.
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
  float first, first_rest;  // a factor, and 1 minus it, which f32 would round away
  float second, second_rest;
  float eps;
  float log_first, log_second;  // natural logarithms of the factors
  // These count in row 0, for all rows. `gradient` multiplies the gradients. Where their norm is then above `most_norm`, they are
  // scaled down to it; 0: they are not. `applies` is 0 where the run takes no step. `loss_scale` multiplies the loss.
  float gradient, most_norm, applies, loss_scale;
  float unused[3];
};

struct UpdateFactors {
  float gradient;  // what the gradients are multiplied by
  float taken;     // 1: there is a step; 0: none was asked for; -1: none, since the norm is infinite or NaN
  float norm;      // of the gradients, before they are scaled down
  float step;      // steps taken, this one included
};

// Squares of so many neighbours are summed up together.
inline constexpr int kSquaresBlock = 4096;

}  // namespace heed
