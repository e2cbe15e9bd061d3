// out = scale * p (g - sum over the row of p g), for weights p and their gradient g; 0 where p or `visible` is 0.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(SoftmaxBackwardParams)
uint offset[4];  // weights, upstream, visible, out, whose rows are contiguous
uint rows, n;
uint dim[4];             // dims of the rows, right-aligned
uint weights_stride[5];  // four of the rows, then that within a row
uint upstream_stride[5];
uint visible_stride[5];
float scale;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(SoftmaxBackwardConstants)
HEED_CONSTANT(4, bool, VISIBLE, false)
HEED_END_CONSTANTS
