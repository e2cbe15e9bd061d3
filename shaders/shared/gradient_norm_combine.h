// The factors of a step, and the number of steps so far, from the sums of squares.
#include "params.h"
#include "update_words.h"

HEED_BEGIN_PARAMS(GradientNormCombineParams)
uint offset[4];  // sums, settings, step, factors
uint sums;
HEED_END_PARAMS
