// Rows go to places along an axis of the result, or come from places along an axis of x. A place below 0 leaves a row out: it
// is not written, or zeros if it comes from there. One that is not below `room` is left out, too, and sets the Faults word.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(PlaceParams)
uint offset[4];  // x, places, out, faults
uint rows, n;
uint room;
uint axis_stride;  // from one place to the next, in x or in the result
uint dim[4];       // of the rows, right-aligned
uint x_stride[5];  // four of the rows, then the row's own; 0 along the axis if rows come from there
uint place_stride[5];
uint out_stride[5];  // 0 along the axis if rows go there
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(PlaceConstants)
HEED_CONSTANT(4, bool, GATHERS, false)
HEED_END_CONSTANTS
