// The constants of matmul.comp, in addition to those of matmul.h.
#include "constants.h"

HEED_BEGIN_CONSTANTS(MatmulTileConstants)
HEED_CONSTANT(10, uint, BK, 16)
HEED_CONSTANT(11, uint, TM, 8)
HEED_CONSTANT(12, uint, TN, 4)
HEED_END_CONSTANTS
