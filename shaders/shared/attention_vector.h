// The constants of attention_vector.comp, beside those of attention.h.
#include "constants.h"

HEED_BEGIN_CONSTANTS(AttentionVectorConstants)
HEED_CONSTANT(12, uint, LANES, 8)  // of a key: a power of two
HEED_CONSTANT(13, uint, TQ, 1)     // queries of a workgroup
HEED_CONSTANT(14, uint, TK, 4)     // keys that a group of lanes has in registers at a time
HEED_END_CONSTANTS
