// out[r, j] = g[r] (softmax(x[r])[j] - (1 - smoothing) [j == label] - smoothing / n); 0 for a label outside 0 .. n - 1.
#include "params.h"

HEED_BEGIN_PARAMS(CrossEntropyBackwardParams)
uint offset[4];  // x, labels, upstream, out, whose rows are contiguous
uint rows, n;
uint dim[4];       // dims of the rows, right-aligned
uint x_stride[5];  // four of the rows, then that within a row
uint label_stride[4];
uint upstream_stride[4];
float smoothing;
HEED_END_PARAMS
