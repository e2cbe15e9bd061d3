// sums[first + b] = sum of the squares of block b, x[b HEED_SQUARES_BLOCK ..]; NaN if one of its elements is infinite or NaN.
#include "params.h"
#include "update_words.h"

HEED_BEGIN_PARAMS(GradientNormParams)
uint offset[2];  // x, sums
uint n;
uint first;
HEED_END_PARAMS
