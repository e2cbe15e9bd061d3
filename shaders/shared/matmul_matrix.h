// The constants of matmul_matrix.comp, in addition to those of matmul.h and matmul_blocks.h.
#include "constants.h"

HEED_BEGIN_CONSTANTS(MatmulMatrixConstants)
HEED_CONSTANT(10, uint, BK, 32)
HEED_CONSTANT(11, uint, WM, 32)
HEED_CONSTANT(12, uint, WN, 32)
HEED_CONSTANT(15, uint, MS, 16)
HEED_CONSTANT(16, uint, NS, 16)
HEED_CONSTANT(17, uint, KS, 16)
HEED_CONSTANT(18, uint, BLOCK_TERMS, 2)  // summands of an element if b is quantized: 1 or 2
HEED_CONSTANT(19, uint, BUFFERS, 1)      // number of blocks in shared memory: with 2 a step has only one barrier
HEED_END_CONSTANTS
