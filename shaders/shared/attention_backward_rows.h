// rows[r] = (log_sum_exp[r], sum over d of output[r, d] gradient[r, d]) for the rows r of [B, H, S_q]. Output and gradient have the memory
// layout [B, S_q, H, D_V].
#include "params.h"

HEED_BEGIN_PARAMS(AttentionBackwardRowsParams)
uint offset[4];  // output, gradient, log_sum_exp, rows
uint rows;
uint heads, s_q, d_v;
HEED_END_PARAMS
