// The constant of matmul_software.comp, beside those of matmul.h.
#include "constants.h"

HEED_BEGIN_CONSTANTS(MatmulSoftwareConstants)
HEED_CONSTANT(9, uint, LANES, 8)
HEED_END_CONSTANTS
