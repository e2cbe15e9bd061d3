// The constants of projection.comp for quantized weights, in addition to those of projection.h. Missing weights repeat the types and
// numbers of the first one.
#include "blocks.h"
#include "constants.h"

HEED_BEGIN_CONSTANTS(ProjectionBlockConstants)
HEED_CONSTANT(14, uint, TYPE_0, 0)
HEED_CONSTANT(15, uint, TYPE_1, 0)
HEED_CONSTANT(16, uint, TYPE_2, 0)
HEED_CONSTANT(17, uint, COUNT_0, 1)  // number of blocks in the tensor of which a weight is a part
HEED_CONSTANT(18, uint, COUNT_1, 1)
HEED_CONSTANT(19, uint, COUNT_2, 1)
HEED_CONSTANT(20, uint, FIRST_0, 0)  // the first block of the weight
HEED_CONSTANT(21, uint, FIRST_1, 0)
HEED_CONSTANT(22, uint, FIRST_2, 0)
HEED_CONSTANT(23, uint, RUN, 1)  // eights (blocks.glsl) that an invocation reads at a time: 1 or 4
HEED_END_CONSTANTS
