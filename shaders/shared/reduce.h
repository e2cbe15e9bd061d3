// out[e] = the reduction KIND of x[e, i] over all i < n. A mean with a mask includes only the i that the mask keeps, and is 0 if there are
// none. With HEED_REDUCE_CUMSUM, out[e, i] = the sum of x[e, j] over j <= i.
//
// A long axis may take several dispatches (HEED_REDUCE_PARTS). Between two of them each invocation keeps its own numbers in the workspace, so
// that the order of sums, and with it the bits, are those of one dispatch.
#include "constants.h"
#include "params.h"

// Numbers of heed::Reduction; Max and Min use argmax.comp.
#define HEED_REDUCE_SUM 0u
#define HEED_REDUCE_MEAN 1u
#define HEED_REDUCE_PRODUCT 2u
#define HEED_REDUCE_LOG_SUM_EXP 5u
#define HEED_REDUCE_L2 6u
#define HEED_REDUCE_WHOLE 7u  // the sum of integers
#define HEED_REDUCE_CUMSUM 8u

HEED_BEGIN_PARAMS(ReduceParams)
uint offset[3];  // x, mask, out
uint elements;   // number of elements of out, or of out for one index of the axis
uint n;
uint dim[4];  // dims of these elements, right-aligned
uint x_stride[4], x_n;
uint mask_stride[4], mask_n;
uint out_stride[4], out_n;
uint of;           // number of elements of a mean without a mask
uint part, state;  // with HEED_REDUCE_PARTS: HEED_PART_*, and where the numbers between parts lie
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(ReduceConstants)
HEED_CONSTANT(4, uint, KIND, 0)
HEED_CONSTANT(5, uint, FLAGS, 0)
HEED_END_CONSTANTS
