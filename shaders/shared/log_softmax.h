// out = x - log(sum of exp(x)) over rows of n elements.
#include "params.h"

HEED_BEGIN_PARAMS(LogSoftmaxParams)
uint offset[2];  // x, out
uint rows, n;
uint dim[4];       // dims of the rows, right-aligned
uint x_stride[5];  // four of the rows, then that within a row
uint out_stride[5];
HEED_END_PARAMS
