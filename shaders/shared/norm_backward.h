// out = the gradient of x in a norm of rows of n elements, for the gradient g of what the norm gave. With h = g gamma, y the
// normalized row and f what a deviation was multiplied by:
//   layernorm f (h - mean of h - y mean of h y), rmsnorm f (h - y mean of h y), l2_normalize f (h - y sum of h y)
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(NormBackwardParams)
uint offset[4];  // x, upstream, gamma, out, whose rows have no gaps
uint rows, n;
uint dim[4];       // of the rows, right-aligned
uint x_stride[5];  // four of the rows, then the row's own
uint upstream_stride[5];
uint gamma_stride;
float eps;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(NormBackwardConstants)
HEED_CONSTANT(3, uint, KIND, 0)  // HEED_NORM_BACKWARD_..
HEED_CONSTANT(4, bool, GAMMA, false)
HEED_END_CONSTANTS
