// out[b, h, i, :] from what attention.comp left in partial[row, split, D_V + 2]: sums over the values of one split
// of the keys, the largest logit L of the split, and the total of exp(logit - L). out lies in memory as [B, S_q, H,
// D_V], log_sum_exp as [B, H, S_q], through which rows are counted; see attention.h.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(AttentionCombineParams)
uint offset[3];  // partial, out, log_sum_exp
uint first_row;  // it comes first in partial
uint rows;
uint heads;
uint s_q;
uint splits;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(AttentionCombineConstants)
HEED_CONSTANT(4, uint, D_V, 64)
HEED_CONSTANT(5, uint, FLAGS, 0)
HEED_END_CONSTANTS
