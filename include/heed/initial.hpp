// First values of weights, so that training needs no other library: the same bits on every machine.
//
//   std::vector<float> values(3072 * 768);
//   const int64_t shape[] = {3072, 768};
//   heed::Status s = heed::train::initial_values({.kind = heed::train::Initial::XavierUniform, .seed = 1}, shape, values);
//
// Random bits come from Philox4x32-10 (Salmon et al. 2011) with the key (lower half of the seed, stream) and the counter (element
// index / 4 as two words, upper half of the seed, 2). A uniform value is made of one word w, as most * ((w + 1/2) / 2^31 - 1); two
// normal values of two words, as sqrt(-2 ln u) times the cosine and the sine of 2 pi v (Box & Muller 1958), with u and v of
// (w + 1/2) / 2^32. All of it is computed in double, with nothing of the C library that may differ, and rounded to float once.
#pragma once

#include <cstdint>
#include <span>

#include <heed/export.hpp>
#include <heed/status.hpp>

namespace heed::train {

// Of a weight [out, in, ...], fan_in is in times what follows, fan_out is out times what follows.
//   Normal          mean + deviation * normal
//   XavierUniform   up to gain * sqrt(6 / (fan_in + fan_out)) on either side of 0 (Glorot & Bengio 2010)
//   XavierNormal    the deviation is gain * sqrt(2 / (fan_in + fan_out))
//   KaimingUniform  up to gain * sqrt(6 / fan_in) on either side of 0 (He et al. 2015, arXiv:1502.01852)
//   KaimingNormal   the deviation is gain * sqrt(2 / fan_in)
// They are those of torch.nn.init; Kaiming is for Relu there and here, and linear layers of PyTorch begin with KaimingUniform and a
// gain of sqrt(1/6).
enum class Initial : uint8_t { Zeros, Ones, Normal, XavierUniform, XavierNormal, KaimingUniform, KaimingNormal };

// How initial_values draws a weight.
struct InitialOptions {
  Initial kind = Initial::Normal;
  float mean = 0.0f;       // of Normal
  float deviation = 1.0f;  // of Normal
  float gain = 1.0f;       // of Xavier and Kaiming
  uint64_t seed = 0;       // of the random bits
  uint32_t stream = 0;     // of the random bits: another one for each weight of a model
};

// Fills values, row-major. InvalidArgument: Xavier or Kaiming of less than two axes, a size that is not positive, or a number that is
// not finite or, but for the mean, below 0. ShapeMismatch: there are not as many values as the shape says.
HEED_API Status initial_values(const InitialOptions& options, std::span<const int64_t> shape, std::span<float> values);

}  // namespace heed::train
