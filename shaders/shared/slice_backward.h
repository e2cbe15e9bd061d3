// out[place + sum of index[d] * place_stride[d]] = x[index]; zeros elsewhere. out is contiguous; place_stride is in descending order.
#include "params.h"

HEED_BEGIN_PARAMS(SliceBackwardParams)
uint offset[2];  // x, out
uint elements;   // number of elements of out
uint place;
uint dim[5];  // dims of x, right-aligned
uint x_stride[5];
uint place_stride[5];
HEED_END_PARAMS
