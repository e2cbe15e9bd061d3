// The constants of row_groups.glsl.
#include "constants.h"

HEED_BEGIN_CONSTANTS(RowGroupConstants)
HEED_CONSTANT(5, uint, HELD, 0)      // groups that a lane keeps; 0: rows are read again in every walk
HEED_CONSTANT(6, bool, VEC4, false)  // rows are dense; starts and lengths are multiples of four elements
HEED_END_CONSTANTS
