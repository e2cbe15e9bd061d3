// Sums over the rows of a norm's gradients, in a fixed order. g is the gradient of the norm's result, y the normalized rows, recomputed
// with the numbers that norm_backward.h stored, and `made` the gradient of x:
//   gamma: sum of g y;  beta: sum of g;  sums: sum of made
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(NormBackwardSumsParams)
uint offset[7];  // x, upstream, made, whose rows are contiguous, rows, and the gradients of gamma and beta, sums
uint rows, n;
uint dim[4];       // dims of the rows, right-aligned
uint x_stride[5];  // four of the rows, then that within a row
uint upstream_stride[5];
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(NormBackwardSumsConstants)
HEED_CONSTANT(4, bool, GAMMA, false)
HEED_CONSTANT(5, bool, BETA, false)
HEED_CONSTANT(6, bool, SUMS, false)
HEED_END_CONSTANTS
