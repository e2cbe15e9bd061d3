// out[r] = log(sum over j of exp(x[r, j])) - (1 - smoothing) x[r, label] - smoothing * mean of x[r]; 0 for a label outside 0 .. n - 1.
#include "params.h"

HEED_BEGIN_PARAMS(CrossEntropyParams)
uint offset[3];  // x, labels, out
uint rows, n;
uint dim[4];       // dims of the rows, right-aligned
uint x_stride[5];  // four of the rows, then that within a row
uint label_stride[4];
uint out_stride[4];
float smoothing;
HEED_END_PARAMS
