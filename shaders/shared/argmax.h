// out[e, r] = index i of the largest element of x[e, i], then of the next ones; or, with HEED_ARGMAX_VALUE, out[e] = that element itself.
// Of equal ones the lower index comes first, or the higher one with HEED_ARGMAX_LAST. NaN comes last; as a value it comes first. A dispatch
// finds begin <= r < end, based on the results of the one before it.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(ArgmaxParams)
uint offset[2];  // x, out
uint elements;   // number of elements of out, or of out for one index of the axis
uint n, begin, end;
uint dim[4];  // dims of these elements, right-aligned
uint x_stride[4], x_n;
uint out_stride[4], out_n;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(ArgmaxConstants)
HEED_CONSTANT(4, uint, FLAGS, 0)
HEED_END_CONSTANTS
