// The constants of row_groups.glsl.
#include "constants.h"

HEED_BEGIN_CONSTANTS(RowGroupConstants)
HEED_CONSTANT(5, uint, HELD, 0)      // groups that a lane keeps in registers; 0: rows are read again in every loop
HEED_CONSTANT(6, bool, VEC4, false)  // rows are contiguous; starts and lengths are multiples of four elements
HEED_END_CONSTANTS
