// The constants of attention_software.comp, beside those of attention.h.
#include "constants.h"

HEED_BEGIN_CONSTANTS(AttentionSoftwareConstants)
HEED_CONSTANT(11, uint, LANES, 8)
HEED_CONSTANT(12, uint, TQ, 16)
HEED_END_CONSTANTS
