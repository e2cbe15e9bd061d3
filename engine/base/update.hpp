// What an optimizer's passes are told by a run, and tell each other: rows of f32, as shaders/shared/update_words.h has them.
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
  // Of row 0, for all rows: what the gradients are multiplied by; the largest norm of the result, beyond which they are scaled
  // down, or 0; whether there is a step at all; and what multiplies the loss.
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
