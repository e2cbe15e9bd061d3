// The constant of rows.glsl, where rows are added up by subgroup operations.
#include "constants.h"

HEED_BEGIN_CONSTANTS(RowConstants)
HEED_CONSTANT(6, bool, ONE_SUBGROUP, false)
HEED_END_CONSTANTS
