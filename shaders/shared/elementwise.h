// out[i] = act(scale * (a[i] op b[i])), or a[i] times the derivative of act at b[i], over up to 5 dimensions, right-aligned.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(ElementwiseParams)
uint offset[3];  // a, b, out
uint rank;       // dimensions in use; 1 if everything is contiguous
uint elements;
uint dim[5];
uint a_stride[5];
uint b_stride[5];
uint out_stride[5];
float scale;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(ElementwiseConstants)
HEED_CONSTANT(4, uint, KIND, 0)
#ifndef HEED_COPY  // copy.comp has only two of the constants
HEED_CONSTANT(5, uint, ACTIVATION, 0)
#endif
HEED_CONSTANT(6, uint, PER_INVOCATION, 4)  // elements, or groups of four
#ifndef HEED_COPY
HEED_CONSTANT(7, bool, VEC4, false)  // rows are contiguous; starts and lengths are multiples of four
#endif
HEED_END_CONSTANTS
