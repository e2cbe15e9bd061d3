// The constants of matmul_dot.comp, in addition to those of matmul.h and matmul_blocks.h.
#include "constants.h"

HEED_BEGIN_CONSTANTS(MatmulDotConstants)
HEED_CONSTANT(10, uint, TM, 8)
HEED_CONSTANT(11, uint, TN, 4)
HEED_END_CONSTANTS
