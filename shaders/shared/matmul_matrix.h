// The constants of matmul_matrix.comp, beside those of matmul.h.
#include "constants.h"

HEED_BEGIN_CONSTANTS(MatmulMatrixConstants)
HEED_CONSTANT(9, uint, BK, 32)
HEED_CONSTANT(10, uint, WM, 32)
HEED_CONSTANT(11, uint, WN, 32)
HEED_CONSTANT(12, uint, MS, 16)
HEED_CONSTANT(13, uint, NS, 16)
HEED_CONSTANT(14, uint, KS, 16)
HEED_END_CONSTANTS
