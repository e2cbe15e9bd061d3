// out[r] = index of the first largest element of row r. NaN is never the largest; a row of NaN alone gives 0.
#include "params.h"

HEED_BEGIN_PARAMS(ArgmaxParams)
uint offset[2];  // x, out
uint rows, n;
uint dim[4];       // of the rows, right-aligned
uint x_stride[5];  // four of the rows, then the row's own
uint out_stride[4];
HEED_END_PARAMS
