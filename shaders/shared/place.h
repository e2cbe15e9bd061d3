// Scatters rows to positions along an axis of the result, or gathers them from positions along an axis of x. A row with a negative position
// is skipped when scattering, and zeros when gathering. A row with a position >= `room` is treated the same, and also sets the Faults word.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(PlaceParams)
uint offset[4];  // x, places, out, faults
uint rows, n;
uint room;
uint axis_stride;  // distance between positions, in x or in the result
uint dim[4];       // dims of the rows, right-aligned
uint x_stride[5];  // strides of the four row dims, then the stride within a row; 0 along the axis when gathering
uint place_stride[5];
uint out_stride[5];  // 0 along the axis when scattering
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(PlaceConstants)
HEED_CONSTANT(4, bool, GATHERS, false)
HEED_END_CONSTANTS
