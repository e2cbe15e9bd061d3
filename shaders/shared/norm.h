// layernorm, and rmsnorm by HEED_NORM_ROOT, over rows of n elements: v = x + residual, then gamma * normalized(v) + beta; or
// with HEED_NORM_BEHIND gamma * normalized(x) + beta + residual.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(NormParams)
uint offset[5];  // x, gamma, beta, residual, out
uint rows, n;
uint dim[4];       // dims of the rows, right-aligned
uint x_stride[5];  // four of the rows, then that within a row
uint residual_stride[5];
uint out_stride[5];
uint gamma_stride, beta_stride;
float eps;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(NormConstants)
HEED_CONSTANT(4, uint, FLAGS, 0)
HEED_END_CONSTANTS
