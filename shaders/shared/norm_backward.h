// out = the gradient of x in a norm of rows of n elements, for the gradient g of the norm's result. With h = g gamma, y the normalized row
// and f the factor that normalizes it:
//   layernorm f (h - mean of h - y mean of h y), rmsnorm f (h - y mean of h y), l2_normalize f (h - y sum of h y)
// plus the residual, if there is one. With ROWS, the numbers of each row that norm_backward_sums.h needs are stored in `rows`.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(NormBackwardParams)
uint offset[6];  // x, upstream, gamma, residual, out, whose rows are contiguous, and rows
uint rows, n;
uint dim[4];       // dims of the rows, right-aligned
uint x_stride[5];  // four of the rows, then that within a row
uint upstream_stride[5];
uint residual_stride[4];  // strides of the rows, whose elements are contiguous
uint gamma_stride;
float eps;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(NormBackwardConstants)
HEED_CONSTANT(4, uint, KIND, 0)  // HEED_NORM_BACKWARD_..
HEED_CONSTANT(5, bool, GAMMA, false)
HEED_CONSTANT(6, bool, RESIDUAL, false)
HEED_CONSTANT(7, bool, ROWS, false)
HEED_END_CONSTANTS
