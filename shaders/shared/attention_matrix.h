// The constants of attention_matrix.comp, in addition to those of attention.h.
#include "constants.h"

HEED_BEGIN_CONSTANTS(AttentionMatrixConstants)
HEED_CONSTANT(12, uint, WAVES_M, 4)
HEED_CONSTANT(13, uint, WAVES_N, 1)
HEED_CONSTANT(14, uint, WM, 16)
HEED_CONSTANT(15, uint, BK, 32)  // at most 32
HEED_CONSTANT(16, uint, MS, 16)
HEED_CONSTANT(17, uint, NS, 16)
HEED_CONSTANT(18, uint, KS, 16)
HEED_CONSTANT(19, uint, LANES, 32)     // subgroup size
HEED_CONSTANT(20, bool, HOLD_Q, true)  // subgroups keep their queries in registers
HEED_END_CONSTANTS
