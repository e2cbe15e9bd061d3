// out[i] = 0 where the random word of i is below the threshold, else scale * x[i]; i row-major over the shape.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(DropoutParams)
uint offset[2];  // x, out
uint rank;
uint elements;
uint dim[5];  // right-aligned
uint x_stride[5];
uint out_stride[5];
uint threshold;
float scale;
uint seed, stream;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(DropoutConstants)
HEED_CONSTANT(4, bool, VEC4, false)  // rows are contiguous; starts and lengths are multiples of four elements
HEED_END_CONSTANTS
