// The constant of matmul kernels for a quantized b, in addition to those of matmul.h and their own.
#include "blocks.h"
#include "constants.h"

HEED_BEGIN_CONSTANTS(MatmulBlockConstants)
HEED_CONSTANT(13, uint, BLOCK_TYPE, 0)
HEED_CONSTANT(14, uint, RUN, 1)  // eights (blocks.glsl) that an invocation of matmul_vector.comp reads at a time: 1 or
                                 // 4
HEED_END_CONSTANTS
