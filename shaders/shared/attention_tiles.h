// The constants of attention.comp, in addition to those of attention.h.
#include "constants.h"

HEED_BEGIN_CONSTANTS(AttentionTileConstants)
HEED_CONSTANT(12, uint, LANES, 1)
HEED_CONSTANT(13, uint, TQ, 1)        // queries per invocation
HEED_CONSTANT(14, uint, TK, 8)        // keys whose logits are in registers together
HEED_CONSTANT(15, uint, BK, 8)        // a multiple of TK, at most 32
HEED_CONSTANT(16, uint, PARTIALS, 1)  // LANES > 1: invocations * TQ * TK
HEED_END_CONSTANTS
