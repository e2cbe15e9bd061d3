// Initial values of weights: training needs no other library for them, and they have the same bits on every machine.
//
//   std::vector<float> values(3072 * 768);
//   const int64_t shape[] = {3072, 768};
//   heed::Status s = heed::train::initial_values({.kind = heed::train::Initial::XavierUniform, .seed = 1}, shape, values);
//
// Random bits come from Philox4x32-10 (Salmon et al. 2011) with the key (lower half of the seed, stream) and the counter (element index / 4
// as two words, upper half of the seed, 2). A uniform value comes from one word w: most * ((w + 1/2) / 2^31 - 1). Two normal values come
// from two words: sqrt(-2 ln u) times the cosine and the sine of 2 pi v (Box & Muller 1958), where u and v are (w + 1/2) / 2^32. Values are
// computed in double without functions of the C library, which differ between machines, and rounded to float once.
#pragma once

#include <cstdint>
#include <span>

#include <heed/export.hpp>
#include <heed/status.hpp>

namespace heed::train {

// For a weight [out, in, ...], fan_in is in times the sizes of the further axes, fan_out is out times these.
//   Normal          mean + deviation * normal
//   XavierUniform   up to gain * sqrt(6 / (fan_in + fan_out)) on either side of 0 (Glorot & Bengio 2010)
//   XavierNormal    the deviation is gain * sqrt(2 / (fan_in + fan_out))
//   KaimingUniform  up to gain * sqrt(6 / fan_in) on either side of 0 (He et al. 2015, arXiv:1502.01852)
//   KaimingNormal   the deviation is gain * sqrt(2 / fan_in)
// They match torch.nn.init; Kaiming assumes Relu. Linear layers of PyTorch begin with KaimingUniform and a gain of sqrt(1/6).
enum class Initial : uint8_t { Zeros, Ones, Normal, XavierUniform, XavierNormal, KaimingUniform, KaimingNormal };

// How initial_values draws a weight.
struct InitialOptions {
  Initial kind = Initial::Normal;
  float mean = 0.0f;       // for Normal
  float deviation = 1.0f;  // for Normal
  float gain = 1.0f;       // for Xavier and Kaiming
  uint64_t seed = 0;       // key of the random bits
  uint32_t stream = 0;     // number of the random stream: use a different one for each weight of a model
};

// Fills `values`, row-major. InvalidArgument: Xavier or Kaiming with less than two axes, a size that is not positive, a number that is not
// finite, or a deviation or gain below 0. ShapeMismatch: `values` does not have the shape's number of elements.
HEED_API Status initial_values(const InitialOptions& options, std::span<const int64_t> shape, std::span<float> values);

}  // namespace heed::train
