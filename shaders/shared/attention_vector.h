// The constants of attention_vector.comp, in addition to those of attention.h.
#include "constants.h"

HEED_BEGIN_CONSTANTS(AttentionVectorConstants)
HEED_CONSTANT(12, uint, LANES, 8)  // that share a key: a power of two
HEED_CONSTANT(13, uint, TQ, 1)     // queries of a workgroup
HEED_CONSTANT(14, uint, TK, 4)     // keys that a group of lanes has in registers together
HEED_END_CONSTANTS
