// out[i] = act(scale * (a[i] op b[i])) over up to 5 dimensions, right-aligned.
#include "params.h"

HEED_BEGIN_PARAMS(ElementwiseParams)
uint offset[3];  // a, b, out
uint rank;       // dimensions in use; 1 when everything is contiguous
uint elements;
uint dim[5];
uint a_stride[5];
uint b_stride[5];
uint out_stride[5];
float scale;
HEED_END_PARAMS
