// out[e] = mean over i < n of x[e, i], only over i whose mask says so; 0 when none does. Or the sum over all i.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(MeanParams)
uint offset[3];  // x, mask, out
uint elements;   // of out
uint n;
uint dim[4];  // of out, right-aligned
uint x_stride[4], x_n;
uint mask_stride[4], mask_n;
uint out_stride[4];
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(MeanConstants)
HEED_CONSTANT(4, uint, FLAGS, 0)
HEED_END_CONSTANTS
