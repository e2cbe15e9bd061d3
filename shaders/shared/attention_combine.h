// out[b, h, i, :] from what attention.comp left in partial[b, h, i, split, D_V + 2]: sums over the values of one split of the
// keys, the largest logit L of the split, and the total of exp(logit - L). out lies in memory as [B, S_q, H, D_V],
// log_sum_exp as [B, H, S_q]; see attention.h.
#include "params.h"

HEED_BEGIN_PARAMS(AttentionCombineParams)
uint offset[3];  // partial, out, log_sum_exp
uint rows;       // B * H * S_q
uint heads;
uint s_q;
uint splits;
HEED_END_PARAMS
