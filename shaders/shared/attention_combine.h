// Computes out[b, h, i, :] from partial[row, split, D_V + 2], which attention.comp wrote: weighted sums over the values of one split of the
// keys, the largest logit L of the split, and the total of exp(logit - L). out has the memory layout [B, S_q, H, D_V], log_sum_exp [B, H,
// S_q], which also numbers the rows; see attention.h.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(AttentionCombineParams)
uint offset[3];  // partial, out, log_sum_exp
uint first_row;  // the first row in partial
uint rows;
uint heads;
uint s_q;
uint splits;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(AttentionCombineConstants)
HEED_CONSTANT(4, uint, D_V, 64)
HEED_CONSTANT(5, uint, FLAGS, 0)
HEED_END_CONSTANTS
